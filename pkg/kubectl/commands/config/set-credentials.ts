import { Buffer } from "node:buffer"
import { resolve } from "node:path"
import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringArrayFlag, stringFlag, stringSliceFlag } from "../../command/flag.ts"
import { parsePairs, type PairChanges } from "../../command/pairs.ts"
import type { AuthInfo, ExecConfig } from "../../config/kubeconfig.ts"
import { modifyConfig, startingConfig } from "../../config/write-kubeconfig.ts"

const flags = {
  "auth-provider": stringFlag("", "The authentication provider of the user"),
  "auth-provider-arg": stringSliceFlag([], "Arguments of the authentication provider, as 'key=value'"),
  "client-certificate": stringFlag("", "The file with the user's client certificate"),
  "client-key": stringFlag("", "The file with the key of the client certificate"),
  "embed-certs": boolFlag(false, "Put certificate and key themselves into the kubeconfig"),
  "exec-api-version": stringFlag("", "The version of the API that the credential program speaks"),
  "exec-arg": stringSliceFlag([], "The arguments of the credential program, instead of those that it has"),
  "exec-command": stringFlag("", "The program that gives the user's credentials"),
  "exec-env": stringArrayFlag([], "Variables of the credential program, as 'key=value'"),
  "exec-interactive-mode": stringFlag("", "Whether the credential program may ask the user"),
  "exec-provide-cluster-info": boolFlag(false, "Whether the credential program is told about the cluster"),
  password: stringFlag("", "The user's password"),
  token: stringFlag("", "The user's token"),
  username: stringFlag("", "The user's name"),
}

type Given = Invocation<typeof flags>

export const setCredentialsCommand = command({
  use: "set-credentials NAME [--client-certificate=path/to/certfile] [--client-key=path/to/keyfile] [--token=bearer_token] [--username=basic_user] [--password=basic_password] [--auth-provider=provider_name] [--auth-provider-arg=key=value] [--exec-command=exec_command] [--exec-api-version=exec_api_version] [--exec-arg=arg] [--exec-env=key=value]",
  noFlagsInUse: true,
  short: "Set a user in the kubeconfig",
  long: `
Set a user in the kubeconfig.

 If there is one of this name, it keeps what the flags do not set.

        Flags of a client certificate:
        --client-certificate=certfile --client-key=keyfile

        Flags of a bearer token:
        --token=bearer_token

        Flags of basic authentication:
        --username=basic_user --password=basic_password

 A bearer token and basic authentication exclude each other.`,
  example: `
# Set nothing but the key of the user cluster-admin
kubectl config set-credentials cluster-admin --client-key=~/.kube/admin.key

# Set basic authentication of the user cluster-admin
kubectl config set-credentials cluster-admin --username=admin --password=uXFGweU9l35qcif

# Put a client certificate into the user cluster-admin
kubectl config set-credentials cluster-admin --client-certificate=~/.kube/admin.crt --embed-certs=true

# Get the credentials of the user cluster-admin from a program
kubectl config set-credentials cluster-admin --exec-command=/path/to/the/executable --exec-api-version=client.authentication.k8s.io/v1beta1

# Get them from a program that may not ask
kubectl config set-credentials cluster-admin --exec-command=/path/to/the/executable --exec-api-version=client.authentication.k8s.io/v1beta1 --exec-interactive-mode=Never

# Set the arguments of the program
kubectl config set-credentials cluster-admin --exec-arg=arg1 --exec-arg=arg2

# Set variables of the program
kubectl config set-credentials cluster-admin --exec-env=key1=val1 --exec-env=key2=val2

# Remove a variable of the program
kubectl config set-credentials cluster-admin --exec-env=var-to-remove-`,
  flags,
  async run(invocation) {
    const { args, factory, environment, out, help } = invocation
    const { rules } = factory.config
    let providerArgs: PairChanges
    let variables: PairChanges
    try {
      if (args.length !== 1) throw new Error(`unexpected args: [${args.join(" ")}]`)
      providerArgs = parsePairs(invocation.flags["auth-provider-arg"], "auth-provider-arg", { removal: true })
      variables = parsePairs(invocation.flags["exec-env"], "exec-env", { removal: true })
    } catch (err) {
      await out.write(help())
      throw err
    }
    const [name = ""] = args
    if (name === "") throw new Error("you must specify a non-empty user name")
    await check(invocation)
    const config = await startingConfig(rules)
    config.users.set(name, await changedUser(config.users.get(name) ?? {}, invocation, providerArgs, variables))
    await modifyConfig(environment, rules, config)
    await out.write(`User ${goQuoted(name)} set.\n`)
  },
})

async function check({ flags: given, changed, environment }: Given): Promise<void> {
  const methods = [
    ...(given.token === "" ? [] : ["--token"]),
    ...(given.username === "" && given.password === "" ? [] : ["--username/--password"]),
  ]
  if (methods.length > 1)
    throw new Error(`you cannot specify more than one authentication method at the same time: ${methods.join(", ")}`)
  if (given["embed-certs"]) {
    const fields = ["client-certificate", "client-key"] as const
    if (fields.every((field) => given[field] === ""))
      throw new Error("you must specify a --client-certificate or --client-key to embed")
    for (const field of fields)
      if (given[field] !== "" && (await environment.files.stat(given[field])) === undefined)
        throw new Error(`could not stat ${field} file ${given[field]}: stat ${given[field]}: no such file or directory`)
  }
  if (changed("exec-interactive-mode") && !["IfAvailable", "Always", "Never"].includes(given["exec-interactive-mode"]))
    throw new Error("invalid interactive mode type, can be only IfAvailable, Never, Always")
}

async function changedUser(
  existing: AuthInfo,
  { flags: given, changed, environment }: Given,
  providerArgs: PairChanges,
  variables: PairChanges,
): Promise<AuthInfo> {
  const user = { ...existing }
  for (const field of ["client-certificate", "client-key"] as const) {
    if (!changed(field)) continue
    if (given["embed-certs"]) {
      user[`${field}-data`] = Buffer.from(await environment.files.read(given[field])).toString("base64")
      delete user[field]
    } else {
      user[field] = resolve(environment.cwd, given[field])
      delete user[`${field}-data`]
    }
  }
  for (const field of ["token", "username", "password"] as const) if (changed(field)) user[field] = given[field]
  const setToken = changed("token") && given.token !== ""
  const setBasic = (changed("username") && given.username !== "") || (changed("password") && given.password !== "")
  if (setBasic && !setToken) delete user.token
  if (setToken && !setBasic) {
    delete user.username
    delete user.password
  }
  const provider =
    changed("auth-provider") && user["auth-provider"]?.name !== given["auth-provider"]
      ? { name: given["auth-provider"], config: {} }
      : user["auth-provider"]
  if (provider !== undefined)
    user["auth-provider"] = { name: provider.name, config: changedMap(provider.config ?? {}, providerArgs) }
  const exec = changed("exec-command") ? { ...user.exec, command: given["exec-command"], args: null } : user.exec
  if (exec !== undefined) user.exec = changedExec(exec, { given, changed, variables })
  return user
}

function changedExec(
  exec: ExecConfig,
  { given, changed, variables }: { given: Given["flags"]; changed: Given["changed"]; variables: PairChanges },
): ExecConfig {
  const kept = (exec.env ?? [])
    .filter(({ name }) => !variables.remove.includes(name))
    .map(({ name, value }) => ({ name, value: variables.set[name] ?? value }))
  const added = Object.entries(variables.set)
    .filter(([name]) => !kept.some((each) => each.name === name))
    .map(([name, value]) => ({ name, value }))
  const env = [...kept, ...added]
  return {
    ...exec,
    ...(changed("exec-api-version") ? { apiVersion: given["exec-api-version"] } : {}),
    ...(given["exec-arg"].length === 0 ? {} : { args: given["exec-arg"] }),
    ...(changed("exec-interactive-mode") ? { interactiveMode: given["exec-interactive-mode"] } : {}),
    ...(changed("exec-provide-cluster-info") ? { provideClusterInfo: given["exec-provide-cluster-info"] } : {}),
    env: env.length === 0 ? null : env,
  }
}

function changedMap(
  map: Readonly<Record<string, string>>,
  { set, remove }: PairChanges,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries({ ...map, ...set }).filter(([key]) => !remove.includes(key)))
}
