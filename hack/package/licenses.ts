import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"

/**
 * Returns the licences of libraries, whose folders are told from the root of the repository.
 * @throws Error for a library without the text of one
 */
export async function licencesOf(root: string, libraries: readonly string[]): Promise<string> {
  const parts: string[] = []
  for (const library of libraries) {
    const folder = join(root, library)
    const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
      readonly name: string
      readonly version: string
      readonly license: string
    }
    const file = (await readdir(folder)).find((one) => /^licen[cs]e([-.].*)?$/i.test(one))
    if (file === undefined) throw new Error(`${name}: the text of its licence (${license}) is not in its package`)
    const text = (await readFile(join(folder, file), "utf8")).trim()
    parts.push(`${name} ${version} (${license})\n\n${text}\n`)
  }
  return `k3ts contains these libraries:\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`
}
