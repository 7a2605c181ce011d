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
  const table = new Map<string, number>()
  for (const line of (await readKernelFile(path)).split("\n")) {
    const end = line.indexOf(" ")
    const value = Number.parseInt(line.slice(end + 1), 10)
    if (end > 0 && value >= 0) table.set(line.slice(0, line[end - 1] === ":" ? end - 1 : end), value)
  }
  return table
}
