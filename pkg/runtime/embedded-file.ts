import { readFile } from "node:fs/promises"

/** Where an executable finds the files that `bun build --compile --asset=FILE` put into it, without their folders. */
const ROOT = "/$bunfs/root"

/** Returns a file that is part of this executable; undefined where it is none, as when run from source. */
export async function embeddedFile(name: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(`${ROOT}/${name}`)
  } catch (err) {
    if (err instanceof Error && "code" in err && err.code === "ENOENT") return undefined
    throw err
  }
}
