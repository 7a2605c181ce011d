import { fstatSync, write as writeTo } from "node:fs"
import type { WriteStream } from "node:tty"
import { makeRaw } from "../../runtime/raw-terminal.ts"
import { BrokenPipe, type InputStream, type OutputStream } from "./environment.ts"
import { errorCode, goPathError } from "./files.ts"

type Output = NodeJS.WriteStream & Partial<WriteStream>

/**
 * An output of the process; `name` is its name in errors: `/dev/stdout`. A file or a pipe is written to directly: the
 * runtime's stream of an output takes as long to load as the runtime itself to start, and only terminals need it.
 */
export function hostOutput(fd: number, stream: () => Output, name: string): OutputStream {
  return isPlain(fd) ? plainOutput(fd, stream, name) : streamOutput(stream(), name)
}

/** Whether a file descriptor is a file or a pipe. */
function isPlain(fd: number): boolean {
  try {
    const stat = fstatSync(fd)
    return stat.isFile() || stat.isFIFO()
  } catch {
    return false
  }
}

function plainOutput(fd: number, stream: () => Output, name: string): OutputStream {
  /** The runtime's stream, once the pipe has turned out to be one that does not wait for its reader. */
  let waiting: OutputStream | undefined
  /** Writes that were begun before another is: they keep their order. */
  let before: Promise<void> = Promise.resolve()
  const write = async (bytes: Uint8Array): Promise<void> => {
    for (let at = 0; at < bytes.length;) {
      if (waiting !== undefined) return waiting.write(bytes.subarray(at))
      try {
        at += await written(fd, bytes.subarray(at))
      } catch (err) {
        if (errorCode(err) !== "EAGAIN") throw writeError(err, name)
        waiting = streamOutput(stream(), name)
      }
    }
  }
  return {
    isTerminal: false,
    size: () => undefined,
    write(text) {
      const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text
      const done = before.then(() => write(bytes))
      before = done.catch(() => undefined)
      return done
    },
    onResize: () => () => undefined,
  }
}

const written = (fd: number, bytes: Uint8Array): Promise<number> =>
  new Promise((resolve, reject) => writeTo(fd, bytes, (err, count) => (err === null ? resolve(count) : reject(err))))

const writeError = (err: unknown, name: string): Error =>
  errorCode(err) === "EPIPE" ? new BrokenPipe((err as Error).message, { cause: err }) : goPathError("write", name, err)

function streamOutput(stream: Output, name: string): OutputStream {
  stream.on("error", () => undefined)
  return {
    isTerminal: stream.isTTY === true,
    size: () =>
      stream.isTTY === true && stream.columns !== undefined && stream.rows !== undefined
        ? { columns: stream.columns, rows: stream.rows }
        : undefined,
    write: (text) =>
      text.length === 0
        ? Promise.resolve()
        : new Promise((resolve, reject) => {
            stream.write(text, (err) => {
              if (err === null || err === undefined) return resolve()
              reject(writeError(err, name))
            })
          }),
    onResize(changed) {
      stream.on("resize", changed)
      return () => void stream.off("resize", changed)
    },
  }
}

/** The input of the process, opened when it is first asked for. */
export function hostInput(stream: () => NodeJS.ReadStream & { readonly fd: number }): InputStream {
  return {
    get isTerminal() {
      return stream().isTTY === true
    },
    setRaw(raw) {
      if (stream().isTTY !== true) return
      // The runtime knows the mode from before, which it also restores when the process ends.
      stream().setRawMode(raw)
      if (raw) makeRaw(stream().fd)
    },
    [Symbol.asyncIterator]: () => (stream() as AsyncIterable<Uint8Array>)[Symbol.asyncIterator](),
  }
}
