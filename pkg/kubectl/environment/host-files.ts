import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises"
import { createReadStream, createWriteStream, type Stats } from "node:fs"
import { tmpdir } from "node:os"
import { errorCode, type Files } from "./files.ts"

/** The files of this machine. */
export const hostFiles: Files = {
  read: (path) => readFile(path),
  stream: (path) => createReadStream(path) as AsyncIterable<Uint8Array>,
  write: (path, data, options = {}) => writeFile(path, data, options),
  open(path, { exclusively = false, ...options } = {}) {
    const stream = createWriteStream(path, { ...options, flags: exclusively ? "wx" : "w" })
    return new Promise((resolve, reject) => {
      stream.once("error", reject)
      stream.once("open", () => {
        stream.off("error", reject)
        resolve({
          write: (data) =>
            new Promise((done, failed) => void stream.write(data, (err) => (err ? failed(err) : done()))),
          close: () =>
            new Promise((done, failed) => void stream.end((err?: Error | null) => (err ? failed(err) : done()))),
        })
      })
    })
  },
  async stat(path, { link = false } = {}) {
    let found: Stats
    try {
      found = await (link ? lstat(path) : stat(path))
    } catch (err) {
      const code = errorCode(err)
      if (code === "ENOENT" || code === "ENOTDIR") return undefined
      throw err
    }
    return {
      isDirectory: found.isDirectory(),
      isFile: found.isFile(),
      isSymbolicLink: found.isSymbolicLink(),
      size: found.size,
      mode: found.mode,
      uid: found.uid,
      gid: found.gid,
      modified: found.mtimeMs,
    }
  },
  list: async (path) => (await readdir(path)).sort(),
  mkdir: async (path, options = {}) => void (await mkdir(path, options)),
  remove: (path, { recursive = false } = {}) => rm(path, { recursive }),
  rename,
  chmod,
  symlink: (target, path) => symlink(target, path),
  realPath: (path) => realpath(path),
  readlink: (path) => readlink(path),
  createExclusively: (path, data) => writeFile(path, data, { flag: "wx" }),
  temporary: tmpdir(),
}
