import { readFileSync } from "node:fs"
import { unreadable } from "../../../pkg/files/unreadable.ts"
import type { Registries } from "./registries.ts"

/**
 * Reads registries.yaml and checks that the files it names can be read. Returns undefined when there is no such file.
 * @throws Error that names the file, the field and what is wrong with it
 */
export async function readRegistries(path: string): Promise<Registries | undefined> {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException
    if (code === "ENOENT") return undefined
    throw new Error(`Cannot read ${path}: ${unreadable(path) ?? message}`, { cause: err })
  }
  // Most nodes have no such file, so they do not load what parses it.
  const { parseRegistries } = await import("./parse-registries.ts")
  const registries = parseRegistries(text, path)
  for (const [host, { tls = {} }] of Object.entries(registries.configs))
    for (const field of ["ca_file", "cert_file", "key_file"] as const) {
      const named = tls[field]
      if (named !== undefined) checkReadable(named, `configs.${JSON.stringify(host)}.tls.${field} in ${path}`)
    }
  return registries
}

function checkReadable(path: string, field: string): void {
  try {
    readFileSync(path)
  } catch (err) {
    const fault = unreadable(path) ?? (err as Error).message
    throw new Error(`Cannot read ${path}, which ${field} names: ${fault}`, { cause: err })
  }
}
