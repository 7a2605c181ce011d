import type { ChartFile } from "./chart.ts"

const BLOCK = 512
const decoder = new TextDecoder()

const textAt = (block: Uint8Array, start: number, length: number): string => {
  const part = block.subarray(start, start + length)
  const end = part.indexOf(0)
  return decoder.decode(end < 0 ? part : part.subarray(0, end))
}

/** Returns the regular files of a tar archive: ustar, with pax records and GNU's long names. @throws Error */
export function readArchive(tar: Uint8Array): readonly ChartFile[] {
  const files: ChartFile[] = []
  let longName: string | undefined
  for (let at = 0; at + BLOCK <= tar.length;) {
    const block = tar.subarray(at, at + BLOCK)
    if (block.every((byte) => byte === 0)) break
    const size = Number.parseInt(textAt(block, 124, 12).trim() || "0", 8)
    if (!Number.isSafeInteger(size) || size < 0 || at + BLOCK + size > tar.length)
      throw new Error("the chart's archive has an invalid header, or is cut short")
    const data = tar.subarray(at + BLOCK, at + BLOCK + size)
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
    const flag = String.fromCharCode(block[156]!)
    if (flag === "x") longName = /(?:^|\n)\d+ path=(.*)\n/.exec(decoder.decode(data))?.[1] ?? longName
    else if (flag === "L") longName = textAt(data, 0, data.length)
    else if (flag !== "g") {
      const prefix = textAt(block, 257, 6).startsWith("ustar") ? textAt(block, 345, 155) : ""
      const own = textAt(block, 0, 100)
      const name = longName ?? (prefix === "" ? own : `${prefix}/${own}`)
      longName = undefined
      if ((flag === "0" || flag === "\0") && !name.endsWith("/")) files.push({ name, data })
    }
  }
  return files
}
