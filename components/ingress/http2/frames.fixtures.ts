/** Frames of HTTP/2, of the first stream or of the connection. Source: RFC 9113, 4.1 and 6. */
const [DATA, HEADERS, RST_STREAM, SETTINGS] = [0, 1, 3, 4]
const [END_STREAM, END_HEADERS] = [1, 4]

const frame = (type: number, flags: number, payload: readonly number[] | Buffer) =>
  Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, type === SETTINGS ? 0 : 1, ...payload])

/** An empty list of settings. */
export const SETTINGS_FRAME = frame(SETTINGS, 0, [])

/** A head, of fields in the form of RFC 7541. */
export const head = (...fields: readonly number[]): Buffer => frame(HEADERS, END_HEADERS, fields)

/** A part of a body. */
export const part = (text: string): Buffer => frame(DATA, 0, Buffer.from(text))

/** The last part of a body. */
export const last = (text: string): Buffer => frame(DATA, END_STREAM, Buffer.from(text))

/** The end of a stream with an error code; 0 is NO_ERROR. */
export const reset = (code: number): Buffer => frame(RST_STREAM, 0, [0, 0, 0, code])
