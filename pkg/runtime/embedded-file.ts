import { readFile } from "node:fs/promises"

/** The folder in which an executable finds the files that `bun build --compile --asset=FILE` has put into it. */
const ROOT = "/$bunfs/root"

/** Returns a file that is part of this executable; undefined when it is not, as when k3ts runs from source. */
export async function embeddedFile(name: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(`${ROOT}/${name}`)
  } catch (err) {
    if (err instanceof Error && "code" in err && err.code === "ENOENT") return undefined
    throw err
  }
}
