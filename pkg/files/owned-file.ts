import { open, type FileHandle } from "node:fs/promises"

/**
 * An open file with an owner, who closes it. The runtime ends the program when an open `FileHandle` is collected as
 * garbage, so all files are opened here: one whose owner has forgotten it is closed, and reported as a warning of the
 * process (`npm run check` refuses other ways to a `FileHandle`).
 */
export class OwnedFile {
  readonly path: string
  readonly #handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.path = path
    this.#handle = handle
  }

  /** Opens a file as `open` of node:fs/promises does. */
  static async open(path: string, flags: string | number = "r", mode?: number): Promise<OwnedFile> {
    const handle = await open(path, flags, mode)
    const file = new OwnedFile(path, handle)
    forgotten.register(file, { path, handle }, file)
    return file
  }

  /** The number of the descriptor, which is valid until `close`. */
  get fd(): number {
    return this.#handle.fd
  }

  /** Reads up to `length` bytes at `position`; none at the end of the file. */
  async read(length: number, position: number): Promise<Buffer> {
    const { buffer, bytesRead } = await this.#handle.read(Buffer.allocUnsafe(length), 0, length, position)
    return buffer.subarray(0, bytesRead)
  }

  /** Fills `buffer` with the bytes at `position`. Returns how many there were: fewer at the end of the file. */
  async fill(buffer: Uint8Array, position: number): Promise<number> {
    let done = 0
    while (done < buffer.length) {
      const { bytesRead } = await this.#handle.read(buffer, done, buffer.length - done, position + done)
      if (bytesRead === 0) break
      done += bytesRead
    }
    return done
  }

  readText(): Promise<string> {
    return this.#handle.readFile("utf8")
  }

  /** Writes all the bytes at the end of what was written before. */
  append(bytes: Uint8Array): Promise<void> {
    return this.#handle.writeFile(bytes)
  }

  stat(): ReturnType<typeof statOf> {
    return statOf(this.#handle)
  }

  truncate(length: number): Promise<void> {
    return this.#handle.truncate(length)
  }

  chmod(mode: number): Promise<void> {
    return this.#handle.chmod(mode)
  }

  sync(): Promise<void> {
    return this.#handle.sync()
  }

  /** Closes the file after the calls in progress. May be called again. */
  close(): Promise<void> {
    forgotten.unregister(this)
    return this.#handle.close()
  }
}

const statOf = (handle: FileHandle) => handle.stat()

const forgotten = new FinalizationRegistry<{ readonly path: string; readonly handle: FileHandle }>(
  ({ path, handle }) => {
    process.emitWarning(`${path} was left open, and is closed now: this is a bug`, "ForgottenFile")
    handle.close().catch(() => undefined)
  },
)

/** Opens a file while `use` runs. */
export async function withOpenFile<T>(
  [path, flags, mode]: Parameters<typeof OwnedFile.open>,
  use: (file: OwnedFile) => Promise<T>,
): Promise<T> {
  const file = await OwnedFile.open(path, flags, mode)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}
