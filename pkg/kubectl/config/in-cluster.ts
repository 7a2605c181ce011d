import type { GlobalValues } from "../command/global-flags.ts"
import type { Environment } from "../environment/environment.ts"
import { usualPortIn, type RestConfig } from "./rest-config.ts"

/** Where a pod has the credentials of its service account. */
const FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"

/** Whether this run is in a pod. Source: client-go tools/clientcmd/client_config.go (inClusterClientConfig). */
export async function isInCluster({ variables, files }: Environment): Promise<boolean> {
  const has = ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"].every((name) => (variables[name] ?? "") !== "")
  return has && (await files.stat(`${FOLDER}/token`))?.isFile === true
}

export async function inClusterNamespace({ variables, files }: Environment): Promise<string> {
  const named = variables["POD_NAMESPACE"] ?? ""
  if (named !== "") return named
  const path = `${FOLDER}/namespace`
  const text = (await files.stat(path)) === undefined ? "" : new TextDecoder().decode(await files.read(path)).trim()
  return text === "" ? "default" : text
}

export async function inClusterConfig({ variables, files }: Environment, globals: GlobalValues): Promise<RestConfig> {
  const host = variables["KUBERNETES_SERVICE_HOST"]!
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${variables["KUBERNETES_SERVICE_PORT"]!}`
  const caFile = globals["certificate-authority"] === "" ? `${FOLDER}/ca.crt` : globals["certificate-authority"]
  const ca = (await files.stat(caFile)) === undefined ? undefined : new TextDecoder().decode(await files.read(caFile))
  const token =
    globals.token === "" ? new TextDecoder().decode(await files.read(`${FOLDER}/token`)).trim() : globals.token
  return {
    server: new URL(server),
    ...usualPortIn(server),
    tls: ca === undefined ? {} : { ca },
    token,
    disableCompression: globals["disable-compression"],
  }
}
