/** One block of a PEM file (RFC 7468). */
export interface PemBlock {
  /** The text after BEGIN, for instance `CERTIFICATE REQUEST`. */
  readonly label: string
  readonly bytes: Buffer
  readonly hasHeaders: boolean
}

const BEGIN = "-----BEGIN "
const DASHES = "-----"

/**
 * Returns the blocks of a PEM text in their order. Text between them, and blocks that cannot be read, are skipped.
 * Takes time linear in the length of the text. Source: Go encoding/pem Decode.
 */
export function pemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = []
  for (let start = text.indexOf(BEGIN); start >= 0;) {
    const labelEnd = text.indexOf(DASHES, start + BEGIN.length)
    const label = labelEnd < 0 ? "" : text.slice(start + BEGIN.length, labelEnd)
    const isLineStart = start === 0 || text[start - 1] === "\n"
    if (labelEnd < 0 || label.includes("\n") || !isLineStart) {
      start = text.indexOf(BEGIN, start + 1)
      continue
    }
    const close = `-----END `
    const end = text.indexOf(close, labelEnd)
    if (end < 0) break
    const body = text.slice(labelEnd + DASHES.length, end)
    const block = text.startsWith(`${label}${DASHES}`, end + close.length) ? blockOf(label, body) : undefined
    if (block !== undefined) blocks.push(block)
    start = text.indexOf(BEGIN, end)
  }
  return blocks
}

function blockOf(label: string, body: string): PemBlock | undefined {
  const hasHeaders = body.includes(":")
  const lines = body.split("\n").filter((line) => !line.includes(":"))
  const base64 = lines.join("").replace(/[\r\t ]/g, "")
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return undefined
  return { label, bytes: Buffer.from(base64, "base64"), hasHeaders }
}

/** Returns a block as PEM. */
export function pemOf(label: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`
}
