import { dirname, isAbsolute, join, relative } from "node:path"
import { writeYaml } from "../../yaml/write.ts"
import type { Environment } from "../environment/environment.ts"
import { errorCode, goPathError } from "../environment/files.ts"
import { typedObject } from "../printers/printer.ts"
import type { Unstructured } from "../rest/json.ts"
import { CLUSTER_FIELDS, CONTEXT_FIELDS, inOrder, USER_FIELDS, type Fields } from "./fields.ts"
import { emptyKubeconfig, type AuthInfo, type Cluster, type Context, type Kubeconfig } from "./kubeconfig.ts"
import type { LoadingRules } from "./loading-rules.ts"

/** Returns a kubeconfig as it is written, with its entries sorted by name. */
export function kubeconfigObject(config: Kubeconfig): Unstructured {
  const list = (entries: ReadonlyMap<string, object>, key: string, fields: Fields): readonly object[] | null =>
    entries.size === 0
      ? null
      : [...entries]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, entry]) => ({ name, [key]: inOrder(entry, fields) }))
  return typedObject({
    kind: "Config",
    apiVersion: "v1",
    ...(Object.keys(config.preferences).length === 0 ? {} : { preferences: config.preferences }),
    clusters: list(config.clusters, "cluster", CLUSTER_FIELDS),
    users: list(config.users, "user", USER_FIELDS),
    contexts: list(config.contexts, "context", CONTEXT_FIELDS),
    "current-context": config.currentContext,
    ...(config.extensions.length === 0 ? {} : { extensions: config.extensions }),
  })
}

/**
 * Writes what a command has changed, each entry into the file that it is from, new ones into the default file. Paths in
 * entries that are written become relative to that file if `relativePaths`. Source: client-go clientcmd.ModifyConfig.
 */
export async function modifyConfig(
  environment: Environment,
  rules: LoadingRules,
  changed: Kubeconfig,
  { relativePaths = true }: { readonly relativePaths?: boolean } = {},
): Promise<void> {
  const sources = [...new Set(rules.explicit === "" ? rules.precedence : [rules.explicit])]
    .filter((path) => path !== "")
    .sort()
  const locked: string[] = []
  try {
    for (const path of sources) {
      await lock(environment, path)
      locked.push(path)
    }
    await write(environment, rules, changed, relativePaths)
  } finally {
    for (const path of locked) await environment.files.remove(`${path}.lock`).catch(() => undefined)
  }
}

async function lock({ files }: Environment, path: string): Promise<void> {
  const folder = dirname(path)
  if ((await files.stat(folder)) === undefined) await files.mkdir(folder, { recursive: true, mode: 0o755 })
  try {
    await files.createExclusively(`${path}.lock`, "")
  } catch (err) {
    throw goPathError("open", `${path}.lock`, err)
  }
}

async function write(
  environment: Environment,
  rules: LoadingRules,
  changed: Kubeconfig,
  relativePaths: boolean,
): Promise<void> {
  const before = await startingConfig(rules)
  const files = new Map<string, Kubeconfig>()
  const defaultFile = await rules.defaultFile()
  const fileOf = async (path: string): Promise<Kubeconfig> => {
    const known = files.get(path) ?? (await readIfThere(rules, path))
    files.set(path, known)
    return known
  }
  if (before.currentContext !== changed.currentContext) {
    // It is taken out of the file that sets it, or put into the default one.
    if (changed.currentContext === "") await clearCurrentContext(rules, before.currentContext, fileOf)
    else (await fileOf(defaultFile)).currentContext = changed.currentContext
  }
  if (JSON.stringify(before.preferences) !== JSON.stringify(changed.preferences))
    (await fileOf(defaultFile)).preferences = changed.preferences
  for (const kind of ["clusters", "users", "contexts"] as const) {
    for (const [name, entry] of changed[kind]) {
      const old = before[kind].get(name)
      if (old !== undefined && JSON.stringify(old) === JSON.stringify(entry)) continue
      const path =
        changed.origins.get(entry) ?? (old === undefined ? undefined : before.origins.get(old)) ?? defaultFile
      const target: Map<string, Cluster | AuthInfo | Context> = (await fileOf(path))[kind]
      target.set(name, relativePaths ? withRelativePaths(entry, dirname(path)) : entry)
    }
    for (const [name, entry] of before[kind])
      if (!changed[kind].has(name)) (await fileOf(before.origins.get(entry) ?? defaultFile))[kind].delete(name)
  }
  for (const [path, config] of files) {
    const folder = dirname(path)
    if ((await environment.files.stat(folder)) === undefined)
      await environment.files.mkdir(folder, { recursive: true, mode: 0o755 })
    try {
      await environment.files.write(path, writeYaml(kubeconfigObject(config)), { mode: 0o600 })
    } catch (err) {
      throw goPathError("open", path, err)
    }
  }
}

async function clearCurrentContext(
  rules: LoadingRules,
  name: string,
  fileOf: (path: string) => Promise<Kubeconfig>,
): Promise<void> {
  for (const path of rules.explicit === "" ? rules.precedence : [rules.explicit]) {
    const config = await fileOf(path)
    if (config.currentContext === name) {
      config.currentContext = ""
      return
    }
  }
}

async function readIfThere(rules: LoadingRules, path: string): Promise<Kubeconfig> {
  try {
    return await rules.read(path)
  } catch (err) {
    if (errorCode(err) === "ENOENT") return emptyKubeconfig()
    throw err
  }
}

/** The kubeconfigs as they stand in their files, or none where the named file is not there. */
export async function startingConfig(rules: LoadingRules): Promise<Kubeconfig> {
  try {
    return await rules.load({ raw: true })
  } catch (err) {
    if (errorCode(err) === "ENOENT") return emptyKubeconfig()
    throw err
  }
}

const PATHS = ["certificate-authority", "client-certificate", "client-key", "tokenFile"] as const

/** A path below the folder of the kubeconfig is written relative to it. */
function withRelativePaths<T extends object>(entry: T, folder: string): T {
  const written = { ...entry } as T & Record<string, unknown>
  for (const field of PATHS) {
    const path = written[field]
    if (typeof path !== "string" || path === "") continue
    const from = relative(folder, isAbsolute(path) ? path : join(folder, path))
    if (!from.startsWith("..")) Object.assign(written, { [field]: from })
  }
  return written
}
