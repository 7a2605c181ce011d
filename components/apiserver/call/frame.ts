import type { Stored } from "../../../pkg/storage/storage.ts"

export type FrameType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"

const encoder = new TextEncoder()

/** One event as watchers get it. All watchers share one frame, so each encoding is made once. */
export class WatchFrame {
  readonly type: FrameType
  readonly stored: Stored
  /** Encodings by representation, made at the first use. Watchers in this process use none. */
  #encodings: Map<string, Uint8Array> | undefined
  #line: Uint8Array | undefined
  #alone: WatchBatch | undefined

  constructor(type: FrameType, stored: Stored) {
    this.type = type
    this.stored = stored
  }

  /** A batch with this frame alone, shared by all watchers that get no other frame. */
  get alone(): WatchBatch {
    return (this.#alone ??= new WatchBatch([this]))
  }

  /** `{"type":…,"object":…}` and a line feed. */
  get line(): Uint8Array {
    return (this.#line ??= lineOf(this))
  }

  /** Returns the frame in a representation (`protobuf`, `table` …); `encode` makes it at the first use. */
  encoded(representation: string, encode: (frame: WatchFrame) => Uint8Array): Uint8Array {
    const known = this.#encodings?.get(representation)
    if (known !== undefined) return known
    const bytes = encode(this)
    this.#encodings ??= new Map<string, Uint8Array>()
    this.#encodings.set(representation, bytes)
    return bytes
  }
}

/**
 * The frames of one commit for the watchers that see the same part of it. They share the batch, so its bytes are joined
 * once for each representation.
 */
export class WatchBatch {
  readonly frames: readonly WatchFrame[]
  #encodings: Map<string, Uint8Array> | undefined

  constructor(frames: readonly WatchFrame[]) {
    this.frames = frames
  }

  /** Returns the whole batch in a representation; `make` makes it at the first use. */
  encoded(representation: string, make: () => Uint8Array): Uint8Array {
    const known = this.#encodings?.get(representation)
    if (known !== undefined) return known
    const bytes = make()
    this.#encodings ??= new Map<string, Uint8Array>()
    this.#encodings.set(representation, bytes)
    return bytes
  }
}

function lineOf({ type, stored }: WatchFrame): Uint8Array {
  const head = encoder.encode(`{"type":"${type}","object":`)
  const line = new Uint8Array(head.length + stored.json.length + 2)
  line.set(head)
  line.set(stored.json, head.length)
  line.set([0x7d, 0x0a], line.length - 2)
  return line
}
