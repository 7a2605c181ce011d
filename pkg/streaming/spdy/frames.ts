/** Encodes and decodes SPDY/3.1 frames (spdy-protocol-draft3-1, 2.2 and 2.6). */
import { HeaderReader, type SpdyHeaders, HeaderWriter } from "./headers.ts"

export const RST = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
  streamAlreadyClosed: 9,
} as const

export interface SynStreamFrame {
  readonly type: "synStream"
  readonly streamId: number
  readonly associatedTo: number
  /** From 0 (highest) to 7 (lowest). */
  readonly priority: number
  readonly fin: boolean
  readonly unidirectional: boolean
  readonly headers: SpdyHeaders
}

export type Frame =
  | { readonly type: "data"; readonly streamId: number; readonly fin: boolean; readonly data: Buffer }
  | SynStreamFrame
  | {
      readonly type: "synReply" | "headers"
      readonly streamId: number
      readonly fin: boolean
      readonly headers: SpdyHeaders
    }
  | { readonly type: "rstStream"; readonly streamId: number; readonly status: number }
  | {
      readonly type: "settings"
      readonly entries: readonly { readonly id: number; readonly flags: number; readonly value: number }[]
    }
  | { readonly type: "ping"; readonly id: number }
  | { readonly type: "goAway"; readonly lastGoodStreamId: number; readonly status: number }
  | { readonly type: "windowUpdate"; readonly streamId: number; readonly delta: number }

const CODE = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const
const FLAG_FIN = 1
const FLAG_UNIDIRECTIONAL = 2
const VERSION = 3

/** A frame of the peer cannot be decoded. Later frames cannot be either, so the connection has to end. */
export class FrameError extends Error {
  override readonly name = "FrameError"
}

/** Encodes frames. They must be sent in the order of the calls, because header compression keeps state. */
export class FrameWriter {
  readonly #headers = new HeaderWriter()

  /** Returns the head of a data frame, for `length` bytes that follow it. */
  dataHead(streamId: number, length: number, fin: boolean): Buffer {
    const head = Buffer.allocUnsafe(8)
    head.writeUInt32BE(streamId, 0)
    head.writeUInt32BE(((fin ? FLAG_FIN : 0) << 24) | length, 4)
    return head
  }

  write(frame: Frame): Buffer {
    switch (frame.type) {
      case "data":
        return Buffer.concat([this.dataHead(frame.streamId, frame.data.length, frame.fin), frame.data])
      case "synStream":
        return control(CODE.synStream, (frame.fin ? FLAG_FIN : 0) | (frame.unidirectional ? FLAG_UNIDIRECTIONAL : 0), [
          words(frame.streamId, frame.associatedTo),
          Buffer.from([frame.priority << 5, 0]),
          this.#headers.write(frame.headers),
        ])
      case "synReply":
      case "headers":
        return control(CODE[frame.type], frame.fin ? FLAG_FIN : 0, [
          words(frame.streamId),
          this.#headers.write(frame.headers),
        ])
      case "rstStream":
        return control(CODE.rstStream, 0, [words(frame.streamId, frame.status)])
      case "settings":
        return control(CODE.settings, 0, [
          words(
            frame.entries.length,
            ...frame.entries.flatMap(({ id, flags, value }) => [((flags << 24) | id) >>> 0, value]),
          ),
        ])
      case "ping":
        return control(CODE.ping, 0, [words(frame.id)])
      case "goAway":
        return control(CODE.goAway, 0, [words(frame.lastGoodStreamId, frame.status)])
      case "windowUpdate":
        return control(CODE.windowUpdate, 0, [words(frame.streamId, frame.delta)])
    }
  }
}

/** Decodes frames from chunks of any size. */
export class FrameReader {
  readonly #headers = new HeaderReader()
  #pending: Buffer[] = []
  #size = 0
  /** The number of bytes that must be pending before decoding is tried again. */
  #wanted = 8

  /** Returns the frames that `chunk` completes. @throws FrameError */
  read(chunk: Buffer): Frame[] {
    const frames: Frame[] = []
    this.#pending.push(chunk)
    this.#size += chunk.length
    while (this.#size >= this.#wanted) {
      const head = this.#peek(8)
      this.#wanted = 8 + head.readUIntBE(5, 3)
      if (this.#size < this.#wanted) break
      const whole = this.#peek(this.#wanted)
      this.#wanted = 8
      this.#size -= whole.length
      this.#pending = this.#size > 0 ? [this.#pending[0]!.subarray(whole.length)] : []
      const frame = this.#parse(head, whole.subarray(8))
      if (frame !== undefined) frames.push(frame)
    }
    return frames
  }

  /** Returns the first `count` pending bytes, joined in the first chunk. */
  #peek(count: number): Buffer {
    if (this.#pending.length > 1) this.#pending = [Buffer.concat(this.#pending)]
    return this.#pending[0]!.subarray(0, count)
  }

  #parse(head: Buffer, body: Buffer): Frame | undefined {
    const first = head.readUInt32BE(0)
    const flags = head[4]!
    const fin = (flags & FLAG_FIN) !== 0
    if ((first & 0x80000000) === 0) return { type: "data", streamId: first, fin, data: body }
    const version = (first >>> 16) & 0x7fff
    if (version !== VERSION) throw new FrameError(`Cannot read SPDY frame: version is ${version}, expected ${VERSION}`)
    try {
      return this.#parseControl(first & 0xffff, flags, fin, body)
    } catch (err) {
      throw new FrameError(`Cannot read SPDY frame of type ${first & 0xffff}: ${(err as Error).message}`, {
        cause: err,
      })
    }
  }

  #parseControl(code: number, flags: number, fin: boolean, body: Buffer): Frame | undefined {
    const word = (index: number) => body.readUInt32BE(index * 4)
    const id = () => word(0) & 0x7fffffff
    switch (code) {
      case CODE.synStream:
        return {
          type: "synStream",
          streamId: id(),
          associatedTo: word(1) & 0x7fffffff,
          priority: body.readUInt8(8) >> 5,
          fin,
          unidirectional: (flags & FLAG_UNIDIRECTIONAL) !== 0,
          headers: this.#headers.read(body.subarray(10)),
        }
      case CODE.synReply:
        return { type: "synReply", streamId: id(), fin, headers: this.#headers.read(body.subarray(4)) }
      case CODE.headers:
        return { type: "headers", streamId: id(), fin, headers: this.#headers.read(body.subarray(4)) }
      case CODE.rstStream:
        return { type: "rstStream", streamId: id(), status: word(1) }
      case CODE.settings:
        return {
          type: "settings",
          entries: Array.from({ length: Math.min(word(0), body.length >> 3) }, (_, i) =>
            setting(word(1 + i * 2), word(2 + i * 2)),
          ),
        }
      case CODE.ping:
        return { type: "ping", id: word(0) }
      case CODE.goAway:
        return { type: "goAway", lastGoodStreamId: id(), status: word(1) }
      case CODE.windowUpdate:
        return { type: "windowUpdate", streamId: id(), delta: word(1) & 0x7fffffff }
      default:
        return undefined // "recipients MUST ignore frames they do not know" (2.2.1)
    }
  }
}

const setting = (flagsAndId: number, value: number) => ({ id: flagsAndId & 0xffffff, flags: flagsAndId >>> 24, value })

function control(code: number, flags: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(8)
  head.writeUInt16BE(0x8000 | VERSION, 0)
  head.writeUInt16BE(code, 2)
  head.writeUInt32BE(((flags << 24) | body.length) >>> 0, 4)
  return Buffer.concat([head, body])
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4)
  return bytes
}
