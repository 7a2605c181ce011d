import { Buffer } from "node:buffer"
import type { OutgoingHttpHeaders, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { directResponse, endDirect } from "./direct-response.ts"
import { DirectSocket } from "./direct-socket.ts"

/** Pieces of more bytes get memory of their own. */
const SPARE_BYTES = 256 * 1024

/** A client may read as fast as the server writes, and would keep all others waiting. */
const MOST_BYTES_IN_TURN = 2 * 1024 * 1024

/**
 * Where pieces are made, one after the other: new memory for each would cost as much as making it. Undefined while the
 * bytes of a piece wait there for a client.
 */
let spare: Buffer | undefined

/**
 * Sends a large body over HTTP/1.1 directly to the native socket, piece by piece: each is made in `room` and written
 * before the next one is.
 */
export class DirectBody {
  /** The head of the response, which is the caller's to write: at the beginning of the first piece. */
  readonly head: Buffer
  readonly #res: ServerResponse
  readonly #socket: Socket
  readonly #direct: DirectSocket
  /** Bytes written in this turn of the event loop. */
  #inTurn = 0

  private constructor(res: ServerResponse, socket: Socket, head: string) {
    this.head = Buffer.from(head, "latin1")
    this.#res = res
    this.#socket = socket
    this.#direct = new DirectSocket(socket)
  }

  /** Returns undefined, and has done nothing, where only `node:http` can send the response. */
  static begin(res: object, status: number, headers: OutgoingHttpHeaders, length: number): DirectBody | undefined {
    const response = directResponse(res, status, headers, length)
    if (response === undefined) return undefined
    response.res.statusCode = status
    // For all who ask whether an error can still be sent.
    Object.assign(response.res, { headersSent: true })
    return new DirectBody(response.res, response.socket, response.head)
  }

  /** Returns memory for a piece. */
  room = (length: number): Buffer => {
    if (length > SPARE_BYTES) return Buffer.allocUnsafe(length)
    spare ??= Buffer.allocUnsafeSlow(SPARE_BYTES)
    return length === SPARE_BYTES ? spare : spare.subarray(0, length)
  }

  /**
   * Writes a piece. The promise resolves when the next one may be made: when the client has read, or other requests had
   * their turn.
   */
  write(piece: Buffer): Promise<void> | undefined {
    if (this.#direct.write(piece) === 0) {
      this.#inTurn += piece.length
      return this.#inTurn < MOST_BYTES_IN_TURN ? undefined : this.#nextTurn()
    }
    if (piece.buffer === spare?.buffer) spare = undefined
    return this.#direct.reading()
  }

  #nextTurn(): Promise<void> {
    this.#inTurn = 0
    return new Promise((resolve) => void setImmediate(resolve))
  }

  end(): void {
    endDirect(this.#res, this.#socket)
  }
}
