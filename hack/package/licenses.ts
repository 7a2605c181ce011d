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
    const text = await licenceIn(folder)
    if (text === undefined) throw new Error(`${name}: the text of its licence (${license}) is not in its package`)
    parts.push(`${name} ${version} (${license})\n\n${text}\n`)
  }
  return `k3ts contains these libraries:\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`
}

/** Returns the text of a file of its own, or of the last section of the README, where some packages have it. */
async function licenceIn(folder: string): Promise<string | undefined> {
  const files = await readdir(folder)
  const own = files.find((one) => /^licen[cs]e([-.].*)?$/i.test(one))
  if (own !== undefined) return (await readFile(join(folder, own), "utf8")).trim()
  const readme = files.find((one) => /^readme(\.md)?$/i.test(one))
  if (readme === undefined) return undefined
  const [, text = ""] = (await readFile(join(folder, readme), "utf8")).split(/^#+ licen[cs]e$/im)
  return text.includes("Copyright") ? text.trim() : undefined
}
