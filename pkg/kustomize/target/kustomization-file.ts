import type { FileLoader } from "../loader/file-loader.ts"

/** The names that a kustomization file may have. */
const NAMES = ["kustomization.yaml", "kustomization.yml", "Kustomization"] as const

/** Returns the kustomization file of a folder. @throws Error when there is none, or more than one */
export async function loadKustomizationFile(
  loader: FileLoader,
): Promise<{ readonly name: string; readonly text: string }> {
  const found: { readonly name: string; readonly text: string }[] = []
  for (const name of NAMES) {
    const text = await loader.tryLoad(name)
    if (text !== undefined) found.push({ name, text })
  }
  if (found.length > 1) throw new Error(`Found multiple kustomization files under: ${loader.root}\n`)
  if (found.length === 0) {
    const [first, second, third] = NAMES
    throw new Error(`unable to find one of '${first}', '${second}' or '${third}' in directory '${loader.root}'`)
  }
  return found[0]!
}
