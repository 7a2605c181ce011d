import type { Readable } from "node:stream"
import { Queue } from "./queue.ts"

/** Columns and rows. */
export interface TerminalSize {
  readonly width: number
  readonly height: number
}

/**
 * Reads the sizes on a resize channel: JSON objects one after another, in chunks of any size. Only one reader is
 * allowed, which sees an end however the channel ends. Source: client-go tools/remotecommand (TerminalSize).
 */
export function readTerminalSizes(channel: Readable): AsyncIterable<TerminalSize> {
  const sizes = new Queue<TerminalSize>()
  let text = ""
  channel.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8")
    for (let end = text.indexOf("}"); end >= 0; end = text.indexOf("}")) {
      const size = parseSize(text.slice(0, end + 1))
      text = text.slice(end + 1)
      if (size !== undefined) sizes.push(size)
    }
    if (text.length > MAX_SIZE_TEXT) channel.destroy()
  })
  for (const event of ["end", "close", "error"]) channel.once(event, () => sizes.end())
  return sizes
}

/** The longest text of a size, in characters. A longer text is not a size. */
const MAX_SIZE_TEXT = 1024

export const encodeTerminalSize = ({ width, height }: TerminalSize): string =>
  `${JSON.stringify({ Width: width, Height: height })}\n`

function parseSize(json: string): TerminalSize | undefined {
  try {
    // Go accepts field names in any case.
    const fields = new Map(
      Object.entries(JSON.parse(json) as object).map(([name, value]) => [name.toLowerCase(), Number(value)]),
    )
    const [width, height] = [fields.get("width"), fields.get("height")]
    return width === undefined || height === undefined ? undefined : { width, height }
  } catch {
    return undefined
  }
}
