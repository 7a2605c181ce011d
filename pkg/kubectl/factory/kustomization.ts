import type { BuildOptions } from "../../kustomize/build.ts"
import type { KustomizeFiles } from "../../kustomize/loader/files.ts"
import type { GitProgram, HelmProgram, RemoteAccess } from "../../kustomize/loader/remote.ts"
import type { ResourceMap } from "../../kustomize/resource/resource-map.ts"
import type { Environment } from "../environment/environment.ts"
import { errorCode, goPathError } from "../environment/files.ts"
import type { ProgramResult } from "../environment/programs.ts"
import { UrlError } from "../errors/errors.ts"
import { quietOutput } from "../printers/output.ts"
import { Log } from "../rest/log.ts"
import { getFollowing, statusText } from "../resource/download.ts"

/** Builds the kustomization of a folder or an address, as YAML in the order of kinds. Source: kustomizevisitor.go. */
export async function buildKustomization(environment: Environment, path: string): Promise<string> {
  return (await buildResources(environment, path, { order: "legacy" })).toYaml()
}

/** Builds a kustomization with the files and programs of a run. Warnings go to the stream of errors. */
export async function buildResources(
  environment: Environment,
  path: string,
  options: Omit<BuildOptions, "files" | "remote" | "warn" | "log">,
): Promise<ResourceMap> {
  const { buildKustomization: build } = await import("../../kustomize/build.ts")
  const { clock, processId } = environment
  const out = quietOutput(environment.stderr)
  const log = new Log({ out, clock, processId, level: 0 })
  let printed = Promise.resolve()
  try {
    return await build(path, {
      ...options,
      files: filesOf(environment),
      remote: remoteOf(environment),
      warn: (line) => void (printed = printed.then(() => out.write(`${line}\n`))),
      log: (message) => void (printed = printed.then(() => log.info(0, message, "log.go:244"))),
    })
  } finally {
    await printed
    await log.flushed()
  }
}

const filesOf = ({ files, cwd }: Environment): KustomizeFiles => ({
  workingFolder: cwd,
  async kindOf(path) {
    const stat = await files.stat(path)
    return stat === undefined ? undefined : stat.isDirectory ? "folder" : "file"
  },
  realPath: (path) => files.realPath(path),
  async read(path) {
    try {
      return await files.read(path)
    } catch (err) {
      // Only the reason: kustomize names the path.
      throw new Error(goPathError("open", path, err).message.replace(/^.*: /s, ""), { cause: err })
    }
  },
})

function remoteOf(environment: Environment): RemoteAccess {
  return {
    async fetch(url) {
      try {
        const { status, body } = await getFollowing(environment, new URL(url))
        return { status, statusText: statusText(status), body }
      } catch (err) {
        throw new UrlError("Get", url, err as Error)
      }
    },
    git: gitOf(environment),
    helm: helmOf(environment),
  }
}

const makeFolder = async ({ files, random }: Environment, prefix: string): Promise<string> => {
  const path = `${files.temporary}/${prefix}${Math.floor(random.next() * 2 ** 32)}`
  await files.mkdir(path, { mode: 0o700 })
  return files.realPath(path)
}
const removeFolder = ({ files }: Environment, path: string): Promise<void> => files.remove(path, { recursive: true })

const gitOf = (environment: Environment): GitProgram => ({
  find: () => environment.programs.find("git"),
  makeFolder: () => makeFolder(environment, "kustomize-"),
  removeFolder: (path) => removeFolder(environment, path),
  async run(command, args, { folder, timeout }) {
    const result = await environment.programs.run({
      command,
      args,
      cwd: folder,
      stdin: "ignore",
      output: "collect",
      timeoutMs: timeout * 1000,
    })
    return {
      output: result.stdout + result.stderr,
      failure: failureOf(result),
      timedOut: result.timedOut === true,
    }
  },
})

const failureOf = ({ code }: ProgramResult): string | undefined => (code === 0 ? undefined : `exit status ${code}`)

const helmOf = (environment: Environment): HelmProgram => ({
  makeFolder: () => makeFolder(environment, "kustomize-helm-"),
  removeFolder: (path) => removeFolder(environment, path),
  write: (path, content) => environment.files.write(path, content),
  async run(command, args, variables) {
    try {
      const all = { ...environment.variables, ...variables }
      const result = await environment.programs.run({ command, args, variables: all, output: "collect" })
      return { ...result, failure: failureOf(result) }
    } catch (err) {
      if (errorCode(err) !== "ENOENT") throw err
      return { stdout: "", stderr: "", failure: `exec: "${command}": executable file not found in $PATH` }
    }
  },
})
