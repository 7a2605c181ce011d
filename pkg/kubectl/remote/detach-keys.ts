const DEFAULT_KEYS = "ctrl-p,ctrl-q"

/** Reads keys such as `ctrl-p,ctrl-q`. @throws Error for a key that there is not */
export function parseDetachKeys(text: string): readonly number[] {
  return (text === "" ? DEFAULT_KEYS : text).split(",").map((key) => {
    const control = /^ctrl-(.)$/.exec(key)?.[1]
    if (control !== undefined) {
      const code = control.toLowerCase().charCodeAt(0)
      if (code >= 0x61 && code <= 0x7a) return code - 0x60
      const sign = { "@": 0, "[": 0x1b, "\\": 0x1c, "]": 0x1d, "^": 0x1e, _: 0x1f }[control]
      if (sign !== undefined) return sign
    }
    if (key.length === 1) return key.charCodeAt(0)
    throw new Error(`could not bind detach keys: Unknown character: '${key}'`)
  })
}

/** Ends the input when the keys are pressed one after another; they are not sent then. */
export async function* untilDetached(
  input: AsyncIterable<Uint8Array>,
  keys: readonly number[],
): AsyncGenerator<Uint8Array, void, undefined> {
  let pressed = 0
  for await (const part of input) {
    const sent: number[] = []
    for (const byte of part) {
      if (byte === keys[pressed]) {
        pressed++
        if (pressed < keys.length) continue
        if (sent.length > 0) yield Uint8Array.from(sent)
        return
      }
      // What looked like the keys was none: it is sent after all.
      for (const key of keys.slice(0, pressed)) sent.push(key)
      pressed = byte === keys[0] ? 1 : 0
      if (pressed === 0) sent.push(byte)
    }
    if (sent.length > 0) yield Uint8Array.from(sent)
  }
}
