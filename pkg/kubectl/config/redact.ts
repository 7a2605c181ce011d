import { Buffer } from "node:buffer"
import { dirname, isAbsolute, join } from "node:path"
import type { Environment } from "../environment/environment.ts"
import { goPathError } from "../environment/files.ts"
import type { Kubeconfig } from "./kubeconfig.ts"

/** Returns a kubeconfig to be shown: secrets are replaced. Source: client-go tools/clientcmd/api/helpers.go. */
export function redacted(config: Kubeconfig): Kubeconfig {
  return {
    ...config,
    clusters: mapValues(config.clusters, (cluster) => ({
      ...cluster,
      ...(isSet(cluster["certificate-authority-data"]) ? { "certificate-authority-data": "DATA+OMITTED" } : {}),
    })),
    users: mapValues(config.users, (user) => ({
      ...user,
      ...(isSet(user["client-certificate-data"]) ? { "client-certificate-data": "DATA+OMITTED" } : {}),
      ...(isSet(user["client-key-data"]) ? { "client-key-data": "DATA+OMITTED" } : {}),
      ...(isSet(user.token) ? { token: "REDACTED" } : {}),
      ...(isSet(user.password) ? { password: "REDACTED" } : {}),
    })),
  }
}

const isSet = (text: string | undefined): boolean => (text ?? "") !== ""

const mapValues = <T>(map: ReadonlyMap<string, T>, change: (value: T) => T): Map<string, T> =>
  new Map([...map].map(([name, value]) => [name, change(value)]))

/** Leaves only what the current context needs. @throws Error when it is not there */
export function minified(config: Kubeconfig): Kubeconfig {
  const name = config.currentContext
  if (name === "") throw new Error("current-context must exist in order to minify")
  const context = config.contexts.get(name)
  if (context === undefined) throw new Error(`cannot locate context ${name}`)
  const cluster = config.clusters.get(context.cluster ?? "")
  if (isSet(context.cluster) && cluster === undefined) throw new Error(`cannot locate cluster ${context.cluster!}`)
  const user = config.users.get(context.user ?? "")
  if (isSet(context.user) && user === undefined) throw new Error(`cannot locate user ${context.user!}`)
  return {
    ...config,
    contexts: new Map([[name, context]]),
    clusters: new Map(cluster === undefined ? [] : [[context.cluster!, cluster]]),
    users: new Map(user === undefined ? [] : [[context.user!, user]]),
  }
}

/** Replaces paths of files by what is in them. */
export async function flattened(config: Kubeconfig, environment: Environment): Promise<Kubeconfig> {
  const embed = async <T extends object>(entry: T, fields: readonly (readonly [string, string])[]): Promise<T> => {
    const copy = { ...entry } as T & Record<string, unknown>
    for (const [pathField, dataField] of fields) {
      const path = copy[pathField]
      if (typeof path !== "string" || path === "" || isSet(copy[dataField] as string | undefined)) continue
      const at = isAbsolute(path) ? path : join(dirname(config.origins.get(entry) ?? ""), path)
      try {
        Object.assign(copy, { [dataField]: Buffer.from(await environment.files.read(at)).toString("base64") })
      } catch (err) {
        throw goPathError("open", at, err)
      }
      delete copy[pathField]
    }
    return copy
  }
  const clusters: Kubeconfig["clusters"] = new Map()
  for (const [name, cluster] of config.clusters)
    clusters.set(name, await embed(cluster, [["certificate-authority", "certificate-authority-data"]]))
  const users: Kubeconfig["users"] = new Map()
  for (const [name, user] of config.users)
    users.set(
      name,
      await embed(user, [
        ["client-certificate", "client-certificate-data"],
        ["client-key", "client-key-data"],
      ]),
    )
  return { ...config, clusters, users }
}
