import { errorMessage } from "../../errors/error-message.ts"
import { confirmFolder, placeOf, type KustomizeFiles } from "./files.ts"
import { cloneRepository } from "./git-clone.ts"
import { joinPath } from "../../apimachinery/go/go-path.ts"
import { isAbsolutePath, isInside } from "./paths.ts"
import type { HelmProgram, RemoteAccess } from "./remote.ts"
import { RepoSpec } from "./repo-spec.ts"

/** What loaders of one build share. */
export interface LoaderContext {
  readonly files: KustomizeFiles
  readonly remote: RemoteAccess
  /** Whether files outside the folder of a kustomization may be read. */
  readonly allowsOutside: boolean
  /** Gets lines of a log. */
  readonly log: (message: string) => void
}

const FORCED_PROTOCOL =
  "Warning: Forcing the git protocol using the 'git::' URL prefix is not supported. Kustomize currently strips this " +
  "invalid prefix, but will stop doing so in a future release. Please remove the 'git::' prefix from your configuration."

/** Returns the repository that an address means; undefined when it means none. */
function repositoryAt(address: string, { log }: LoaderContext): RepoSpec | undefined {
  if (/^git::/i.test(address)) log(FORCED_PROTOCOL)
  const spec = RepoSpec.parse(address)
  return spec instanceof RepoSpec ? spec : undefined
}

/** A server answered with an error. */
export class HttpError extends Error {}

interface Clone {
  readonly spec: RepoSpec
  readonly folder: string
}

/** Reads the files of one kustomization, and finds others. Source: kustomize api/internal/loader/fileloader.go. */
export class FileLoader {
  readonly root: string
  readonly #context: LoaderContext
  /** The loader of the kustomization that refers to this one. */
  readonly #referrer: FileLoader | undefined
  readonly #clone: Clone | undefined

  private constructor(context: LoaderContext, root: string, referrer?: FileLoader, clone?: Clone) {
    this.#context = context
    this.root = root
    this.#referrer = referrer
    this.#clone = clone
  }

  /** Returns the loader of the kustomization at a path or in a repository. */
  static async at(context: LoaderContext, target: string): Promise<FileLoader> {
    const spec = repositoryAt(target, context)
    if (spec !== undefined) return FileLoader.#cloned(context, spec, undefined)
    return new FileLoader(context, await buildFolder(context.files, target))
  }

  /** Returns the loader of a kustomization that this one refers to. */
  async child(path: string): Promise<FileLoader> {
    if (path === "") throw new Error("new root cannot be empty")
    const spec = repositoryAt(path, this.#context)
    if (spec !== undefined) {
      this.#refuseRepositoryCycle(spec)
      return FileLoader.#cloned(this.#context, spec, this)
    }
    if (isAbsolutePath(path)) throw new Error(`new root '${path}' cannot be absolute`)
    const root = await buildFolder(this.#context.files, joinPath(this.root, path))
    const clone = this.#containingClone()
    if (clone !== undefined && !isInside(root, clone.folder))
      throw new Error(
        "security; bases in kustomizations found in cloned git repos must be within the repo, " +
          `but base '${root}' is outside '${clone.folder}'`,
      )
    this.#refuseCycle(root)
    return new FileLoader(this.#context, root, this)
  }

  static async #cloned(context: LoaderContext, spec: RepoSpec, referrer: FileLoader | undefined): Promise<FileLoader> {
    const git = context.remote.git
    const folder = await cloneRepository(git, spec)
    const path = joinPath(folder, spec.rootPath)
    try {
      const place = await placeOf(context.files, path)
      if (place.file !== "") throw new Error(`'${path}' refers to file '${place.file}'; expecting directory`)
      if (!isInside(place.folder, folder))
        throw new Error(`${JSON.stringify(path)} refers to directory outside of repo ${JSON.stringify(folder)}`)
      return new FileLoader({ ...context, allowsOutside: false }, place.folder, referrer, { spec, folder })
    } catch (err) {
      await git?.removeFolder(folder)
      throw err
    }
  }

  #containingClone(): Clone | undefined {
    return this.#clone ?? (this.#referrer === undefined ? undefined : this.#referrer.#containingClone())
  }

  #refuseCycle(candidate: string): void {
    if (isInside(this.root, candidate))
      throw new Error(`cycle detected: candidate root '${candidate}' contains visited root '${this.root}'`)
    if (this.#referrer !== undefined) this.#referrer.#refuseCycle(candidate)
  }

  #refuseRepositoryCycle(spec: RepoSpec): void {
    const raw = this.#clone?.spec.raw
    if (raw?.startsWith(spec.raw) === true)
      throw new Error(`cycle detected: URI '${spec.raw}' referenced by previous URI '${raw}'`)
    if (this.#referrer !== undefined) this.#referrer.#refuseRepositoryCycle(spec)
  }

  /** Returns the bytes of a file or a URL. */
  async load(path: string): Promise<Uint8Array> {
    if (/^https?:/i.test(path)) return this.#fetch(path)
    const { files, allowsOutside } = this.#context
    const absolute = isAbsolutePath(path) ? path : joinPath(this.root, path)
    return readFile(files, allowsOutside ? absolute : await this.#insideRoot(absolute))
  }

  /** Returns the text of a file or a URL. */
  async loadText(path: string): Promise<string> {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await this.load(path))
  }

  /** Returns whether a file is there, and may be read. */
  async tryLoad(path: string): Promise<string | undefined> {
    try {
      return await this.loadText(path)
    } catch {
      return undefined
    }
  }

  async #insideRoot(path: string): Promise<string> {
    const place = await placeOf(this.#context.files, path)
    if (place.file === "") throw new Error(`'${path}' must resolve to a file`)
    if (!isInside(place.folder, this.root))
      throw new Error(`security; file '${path}' is not in or below '${this.root}'`)
    return joinPath(place.folder, place.file)
  }

  async #fetch(url: string): Promise<Uint8Array> {
    const fetch = this.#context.remote.fetch
    if (fetch === undefined) throw new Error(`Get ${JSON.stringify(url)}: no network`)
    const { status, statusText, body } = await fetch(url)
    if (status >= 200 && status <= 299) return body
    if (RepoSpec.parse(url) instanceof RepoSpec) throw new Error("URL is a git repository")
    throw new HttpError(`HTTP Error: status code ${status} (${statusText})`)
  }

  async isFolder(path: string): Promise<boolean> {
    return (await this.#context.files.kindOf(path)) === "folder"
  }

  get helmProgram(): HelmProgram | undefined {
    return this.#context.remote.helm
  }

  /** Removes what was cloned. */
  async cleanUp(): Promise<void> {
    if (this.#clone !== undefined) await this.#context.remote.git?.removeFolder(this.#clone.folder)
  }
}

async function buildFolder(files: KustomizeFiles, path: string): Promise<string> {
  try {
    return await confirmFolder(files, path)
  } catch (err) {
    throw new Error(`must build at directory: ${errorMessage(err)}`, { cause: err })
  }
}

async function readFile(files: KustomizeFiles, path: string): Promise<Uint8Array> {
  if ((await files.kindOf(path)) === "folder") throw new Error(`read ${path}: is a directory`)
  try {
    return await files.read(path)
  } catch (err) {
    throw new Error(`open ${path}: ${errorMessage(err)}`, { cause: err })
  }
}
