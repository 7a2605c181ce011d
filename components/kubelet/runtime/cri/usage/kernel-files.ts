import { readFile } from "node:fs/promises"

/** A file of the kernel's; empty when it is not there, or what it tells of is gone. */
export async function readKernelFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8")
  } catch {
    return ""
  }
}

/** The one number that a file holds; undefined when there is none, or `max`. */
export async function readNumber(path: string): Promise<number | undefined> {
  const text = (await readKernelFile(path)).trim()
  return /^\d+$/.test(text) ? Number(text) : undefined
}

/** Lines of a name and a number, `name 123` or `name: 123 kB`, in the unit that the file has. */
export async function readTable(path: string): Promise<ReadonlyMap<string, number>> {
  const text = await readKernelFile(path)
  return new Map([...text.matchAll(/^(\S+?):?\s+(\d+)\b/gm)].map(([, name, value]) => [name!, Number(value)]))
}
