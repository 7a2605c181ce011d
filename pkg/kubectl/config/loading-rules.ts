import { dirname, isAbsolute, join } from "node:path"
import type { Environment } from "../environment/environment.ts"
import { errorCode, goPathError } from "../environment/files.ts"
import { aggregate } from "../errors/aggregate.ts"
import { emptyKubeconfig, parseKubeconfig, type Kubeconfig } from "./kubeconfig.ts"

/** Which kubeconfigs are read, and which is written. Source: client-go tools/clientcmd/loader.go. */
export class LoadingRules {
  /** The file of `--kubeconfig`; empty when the flag is not set. */
  readonly explicit: string
  /** The files that are read where there is no explicit one; the first wins. */
  readonly precedence: readonly string[]
  readonly #environment: Environment
  readonly #log: (level: number, message: string) => void

  constructor(environment: Environment, explicit: string, log: (level: number, message: string) => void) {
    const variable = environment.variables["KUBECONFIG"] ?? ""
    this.explicit = explicit
    this.precedence = variable === "" ? environment.kubeconfigs : [...new Set(variable.split(":"))]
    this.#environment = environment
    this.#log = log
  }

  /**
   * Returns the merged kubeconfigs. Paths in them are absolute, unless `raw` is set.
   * @throws Error when the explicit file is not there, or one of the files is not a kubeconfig
   */
  async load({ raw = false }: { readonly raw?: boolean } = {}): Promise<Kubeconfig> {
    const { files, variables } = this.#environment
    if (this.explicit !== "" && (await files.stat(this.explicit)) === undefined)
      throw goPathError("stat", this.explicit, Object.assign(new Error(), { code: "ENOENT" }))
    const paths = this.explicit === "" ? this.precedence.filter((path) => path !== "") : [this.explicit]
    const errors: Error[] = []
    const missing: string[] = []
    const loaded: Kubeconfig[] = []
    for (const path of paths)
      try {
        loaded.push(await this.read(path))
      } catch (err) {
        if (errorCode(err) === "ENOENT") missing.push(path)
        // Where no file was named, one that the user may not read is as if it were not there.
        else if (errorCode(err) === "EACCES" && this.explicit === "" && !variables["KUBECONFIG"] && paths.length > 1)
          missing.push(path)
        else errors.push(new Error(`error loading config file "${path}": ${(err as Error).message}`, { cause: err }))
      }
    if ((variables["KUBECONFIG"] ?? "") !== "" && this.explicit === "" && missing.length > 0 && loaded.length === 0)
      this.#log(1, `Config not found: ${missing.join(", ")}`)
    const failed = aggregate(errors)
    if (failed !== undefined) throw failed
    const merged = merge(loaded)
    return raw ? merged : withAbsolutePaths(merged)
  }

  /** Reads one file, whose entries know where they are from. @throws an error with code ENOENT, or that of the parser */
  async read(path: string): Promise<Kubeconfig> {
    let bytes: Uint8Array
    try {
      bytes = await this.#environment.files.read(path)
    } catch (err) {
      throw goPathError("open", path, err)
    }
    const config = parseKubeconfig(new TextDecoder().decode(bytes))
    this.#log(6, `Config loaded from file:  ${path}`)
    for (const entries of [config.clusters, config.users, config.contexts])
      for (const entry of entries.values()) config.origins.set(entry, path)
    return config
  }

  /** The file that new entries and the current context are written to. */
  async defaultFile(): Promise<string> {
    if (this.explicit !== "") return this.explicit
    for (const path of this.precedence)
      if (path !== "" && (await this.#environment.files.stat(path)) !== undefined) return path
    return this.precedence.at(-1) ?? ""
  }
}

/** Entries of an earlier file win; so does its current context. */
function merge(configs: readonly Kubeconfig[]): Kubeconfig {
  const merged = emptyKubeconfig()
  for (const config of configs) {
    for (const [name, cluster] of config.clusters) if (!merged.clusters.has(name)) merged.clusters.set(name, cluster)
    for (const [name, user] of config.users) if (!merged.users.has(name)) merged.users.set(name, user)
    for (const [name, context] of config.contexts) if (!merged.contexts.has(name)) merged.contexts.set(name, context)
    if (merged.currentContext === "") merged.currentContext = config.currentContext
    if (Object.keys(merged.preferences).length === 0) merged.preferences = config.preferences
    if (merged.extensions.length === 0) merged.extensions = config.extensions
    for (const [entry, path] of config.origins) merged.origins.set(entry, path)
  }
  return merged
}

const CLUSTER_PATHS = ["certificate-authority"] as const
const USER_PATHS = ["client-certificate", "client-key", "tokenFile"] as const

/** Paths in a kubeconfig are relative to its folder. */
function withAbsolutePaths(config: Kubeconfig): Kubeconfig {
  const folderOf = (entry: object) => dirname(config.origins.get(entry) ?? "")
  const resolve = <T extends object>(entry: T, fields: readonly (keyof T)[]): void => {
    for (const field of fields) {
      const path = entry[field]
      if (typeof path === "string" && path !== "" && !isAbsolute(path))
        Object.assign(entry, { [field]: join(folderOf(entry), path) })
    }
  }
  for (const cluster of config.clusters.values()) resolve(cluster, CLUSTER_PATHS)
  for (const user of config.users.values()) {
    resolve(user, USER_PATHS)
    const { exec } = user
    if (exec?.command.includes("/") === true && !isAbsolute(exec.command))
      user.exec = { ...exec, command: join(folderOf(user), exec.command) }
  }
  return config
}
