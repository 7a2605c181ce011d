import { readFile } from "node:fs/promises"

/** Mount points of this host in the order in which they were mounted, with their file system's type. */
export async function mountPoints(): Promise<readonly { readonly path: string; readonly type: string }[]> {
  const text = await readFile("/proc/self/mountinfo", "utf8")
  return text.split("\n").flatMap((line) => {
    const fields = line.split(" ")
    const path = fields[4]
    return path === undefined ? [] : [{ path: unescapePath(path), type: fields[fields.indexOf("-") + 1] ?? "" }]
  })
}

/** Spaces and the like are written `\040`. */
const unescapePath = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
