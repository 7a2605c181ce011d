import type { WriteStream } from "node:tty"
import { makeRaw } from "../../runtime/raw-terminal.ts"
import { BrokenPipe, type InputStream, type OutputStream } from "./environment.ts"
import { errorCode, goPathError } from "./files.ts"

/** An output of the process; `name` is its name in errors: `/dev/stdout`. */
export function hostOutput(stream: NodeJS.WriteStream, name: string): OutputStream {
  const terminal = stream as Partial<WriteStream>
  stream.on("error", () => undefined)
  return {
    isTerminal: stream.isTTY === true,
    size: () =>
      terminal.isTTY === true && terminal.columns !== undefined && terminal.rows !== undefined
        ? { columns: terminal.columns, rows: terminal.rows }
        : undefined,
    write: (text) =>
      text.length === 0
        ? Promise.resolve()
        : new Promise((resolve, reject) => {
            stream.write(text, (err) => {
              if (err === null || err === undefined) return resolve()
              reject(
                errorCode(err) === "EPIPE"
                  ? new BrokenPipe(err.message, { cause: err })
                  : goPathError("write", name, err),
              )
            })
          }),
    onResize(changed) {
      stream.on("resize", changed)
      return () => void stream.off("resize", changed)
    },
  }
}

/** The input of the process. */
export function hostInput(stream: NodeJS.ReadStream & { readonly fd: number }): InputStream {
  return {
    get isTerminal() {
      return stream.isTTY === true
    },
    setRaw(raw) {
      if (stream.isTTY !== true) return
      // The runtime knows the mode from before, which it also restores when the process ends.
      stream.setRawMode(raw)
      if (raw) makeRaw(stream.fd)
    },
    [Symbol.asyncIterator]: () => (stream as AsyncIterable<Uint8Array>)[Symbol.asyncIterator](),
  }
}
