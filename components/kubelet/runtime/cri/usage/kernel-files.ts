import { readFile } from "node:fs/promises"

/** Reads a file of the kernel; returns an empty string when it does not exist or cannot be read any more. */
export async function readKernelFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8")
  } catch {
    return ""
  }
}

/** Returns the number in a file; undefined when there is none, or when it is `max`. */
export async function readNumber(path: string): Promise<number | undefined> {
  const text = (await readKernelFile(path)).trim()
  return /^\d+$/.test(text) ? Number(text) : undefined
}

/** Reads lines of a name and a number (`name 123` or `name: 123 kB`). The numbers are in the unit of the file. */
export async function readTable(path: string): Promise<ReadonlyMap<string, number>> {
  const table = new Map<string, number>()
  for (const line of (await readKernelFile(path)).split("\n")) {
    const end = line.indexOf(" ")
    const value = Number.parseInt(line.slice(end + 1), 10)
    if (end > 0 && value >= 0) table.set(line.slice(0, line[end - 1] === ":" ? end - 1 : end), value)
  }
  return table
}
