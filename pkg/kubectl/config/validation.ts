import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { goPathError, type Files } from "../environment/files.ts"
import type { AuthInfo, Cluster } from "./kubeconfig.ts"
import { pushAll } from "../../lists/push-all.ts"

const isSet = (text: string | undefined): boolean => (text ?? "") !== ""

/** Source of rules and messages: client-go tools/clientcmd/validation.go. */
export async function validateCluster(name: string, cluster: Cluster, files: Files): Promise<readonly Error[]> {
  const errors: string[] = []
  if (!isSet(cluster.server))
    errors.push(name === "" ? "default cluster has no server defined" : `no server found for cluster ${goQuoted(name)}`)
  const proxy = cluster["proxy-url"]
  if (isSet(proxy) && !URL.canParse(proxy!))
    errors.push(
      `invalid 'proxy-url' ${goQuoted(proxy!)} for cluster ${goQuoted(name)}: parse ${goQuoted(proxy!)}: invalid URI`,
    )
  const file = cluster["certificate-authority"]
  if (isSet(file) && isSet(cluster["certificate-authority-data"]))
    errors.push(
      `certificate-authority-data and certificate-authority are both specified for ${name}. certificate-authority-data will override.`,
    )
  if (isSet(file))
    pushAll(
      errors,
      await unreadable(
        file!,
        files,
        (why) => `unable to read certificate-authority ${file!} for ${name} due to ${why}`,
      ),
    )
  return errors.map((message) => new Error(message))
}

export async function validateUser(name: string, user: AuthInfo, files: Files): Promise<readonly Error[]> {
  const errors: string[] = []
  const methods = [
    ...(isSet(user.token) ? ["token"] : []),
    ...(isSet(user.username) || isSet(user.password) ? ["basicAuth"] : []),
  ]
  const [certFile, certData] = [user["client-certificate"], user["client-certificate-data"]]
  const [keyFile, keyData] = [user["client-key"], user["client-key-data"]]
  if (isSet(certFile) || isSet(certData)) {
    if (isSet(certFile) && isSet(certData))
      errors.push(`client-cert-data and client-cert are both specified for ${name}. client-cert-data will override.`)
    if (isSet(keyFile) && isSet(keyData))
      errors.push(`client-key-data and client-key are both specified for ${name}; client-key-data will override`)
    if (!isSet(keyFile) && !isSet(keyData))
      errors.push(
        `client-key-data or client-key must be specified for ${name} to use the clientCert authentication method.`,
      )
    if (isSet(certFile))
      pushAll(
        errors,
        await unreadable(
          certFile!,
          files,
          (why) => `unable to read client-cert ${certFile!} for ${name} due to ${why}`,
        ),
      )
    if (isSet(keyFile))
      pushAll(
        errors,
        await unreadable(keyFile!, files, (why) => `unable to read client-key ${keyFile!} for ${name} due to ${why}`),
      )
  }
  pushAll(errors, execProblems(name, user))
  if (methods.length > 1)
    errors.push(
      `more than one authentication method found for ${name}; found [${methods.join(" ")}], only one is allowed`,
    )
  const { "as-uid": uid, "as-groups": groups = [], "as-user-extra": extra = {} } = user
  if ((isSet(uid) || groups.length > 0 || Object.keys(extra).length > 0) && !isSet(user.as))
    errors.push(`requesting uid, groups or user-extra for ${name} without impersonating a user`)
  return errors.map((message) => new Error(message))
}

const INTERACTIVE_MODES = ["Never", "IfAvailable", "Always"]

function execProblems(name: string, { exec, "auth-provider": provider }: AuthInfo): readonly string[] {
  if (exec === undefined) return []
  const plugin = "to use exec authentication plugin"
  const mode = exec.interactiveMode ?? ""
  return [
    ...(provider === undefined
      ? []
      : [`authProvider cannot be provided in combination with an exec plugin for ${name}`]),
    ...(isSet(exec.command) ? [] : [`command must be specified for ${name} ${plugin}`]),
    ...(isSet(exec.apiVersion) ? [] : [`apiVersion must be specified for ${name} ${plugin}`]),
    ...(exec.env ?? [])
      .filter((variable) => !isSet(variable.name))
      .map(() => `env variable name must be specified for ${name} ${plugin}`),
    ...(mode === ""
      ? [`interactiveMode must be specified for ${name} ${plugin}`]
      : INTERACTIVE_MODES.includes(mode)
        ? []
        : [`invalid interactiveMode for ${name}: ${goQuoted(mode)}`]),
  ]
}

async function unreadable(path: string, files: Files, message: (why: string) => string): Promise<readonly string[]> {
  try {
    await files.read(path)
    return []
  } catch (err) {
    return [message(goPathError("open", path, err).message)]
  }
}
