import { Buffer } from "node:buffer"
import { createGunzip } from "node:zlib"
import { checkedHead, checkedRecord } from "./checked-record.ts"
import {
  LONGEST_SPAN_MS,
  MOST_BYTES,
  MOST_LINE_BYTES,
  RecordingError,
  tooLarge,
  type RecordedObject,
  type RecordedWrite,
  type Recording,
  type RecordingEnd,
} from "./format.ts"

const LINE_END = 0x0a
/** The longest head. */
const MOST_HEAD_BYTES = 2 ** 16

/**
 * Reads a recording of at most `mostBytes` when it is unpacked.
 * @throws RecordingError for a file that is none, of a later version, damaged or cut off, or that contradicts itself
 */
export async function readRecording(bytes: Uint8Array, mostBytes = MOST_BYTES): Promise<Recording> {
  const newline = bytes.subarray(0, MOST_HEAD_BYTES).indexOf(LINE_END)
  const head = checkedHead(newline === -1 ? "" : Buffer.from(bytes.subarray(0, newline)).toString())
  const objects: RecordedObject[] = []
  const writes: RecordedWrite[] = []
  let end: RecordingEnd | undefined
  for await (const { line, number } of linesOf(bytes.subarray(newline + 1), mostBytes)) {
    if (end !== undefined) throw damaged(`line ${number} is behind the end`)
    const record = checkedRecord(line, number)
    if (record.type === "end") end = record
    else if (record.type === "write") writes.push(record)
    else if (writes.length > 0) throw damaged(`line ${number} is an object behind writes`)
    else objects.push(record)
  }
  if (end === undefined) throw damaged("its end is missing: it was cut off")
  if (end.objects !== objects.length || end.writes !== writes.length)
    throw damaged(
      `it has ${objects.length} objects and ${writes.length} writes, but should have ${end.objects} and ${end.writes}`,
    )
  checkTimes(Date.parse(head.begin), writes, Date.parse(end.time))
  return { head, objects, writes, end }
}

const damaged = (what: string): RecordingError => new RecordingError(`it is damaged (${what}); record it again`)

function checkTimes(begin: number, writes: readonly RecordedWrite[], end: number): void {
  if (!(end - begin <= LONGEST_SPAN_MS)) throw new RecordingError("its span is longer than 31 days")
  let [last, revision] = [begin, 0]
  for (const write of writes) {
    const time = Date.parse(write.time)
    if (time < last)
      throw damaged(`revision ${write.revision} is of a time before the write ahead of it, or the beginning`)
    if (write.revision <= revision) throw damaged(`revision ${write.revision} is behind ${revision}`)
    last = time
    revision = write.revision
  }
  if (last > end) throw damaged("a write is of a time behind the end")
}

/** Yields the lines of compressed bytes. @throws RecordingError where they are damaged, or too large */
async function* linesOf(
  compressed: Uint8Array,
  mostBytes: number,
): AsyncGenerator<{ readonly line: string; readonly number: number }> {
  let rest: Buffer[] = []
  let [restBytes, all, number] = [0, 0, 1]
  for await (const part of unpacked(compressed)) {
    all += part.length
    if (all > mostBytes) throw tooLarge(mostBytes)
    let from = 0
    for (let at = part.indexOf(LINE_END); at !== -1; at = part.indexOf(LINE_END, from)) {
      rest.push(part.subarray(from, at))
      yield { line: Buffer.concat(rest).toString(), number: ++number }
      rest = []
      restBytes = 0
      from = at + 1
    }
    rest.push(part.subarray(from))
    restBytes += part.length - from
    if (restBytes > MOST_LINE_BYTES) throw damaged(`line ${number + 1} is longer than ${MOST_LINE_BYTES} bytes`)
  }
  if (restBytes > 0) throw damaged("its last line has no end: it was cut off")
}

async function* unpacked(compressed: Uint8Array): AsyncGenerator<Buffer> {
  const gunzip = createGunzip()
  gunzip.end(compressed)
  try {
    for await (const part of gunzip) yield part as Buffer
  } catch (cause) {
    throw new RecordingError(`it is damaged (${(cause as Error).message}); record it again`, { cause })
  } finally {
    gunzip.destroy()
  }
}
