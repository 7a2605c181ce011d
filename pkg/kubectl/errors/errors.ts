import { Aggregate } from "./aggregate.ts"

/** Ends the run with code 1 and without a message: what is to be said has been said. */
export class SilentExit extends Error {
  override readonly name = "SilentExit"
  readonly code: number
  constructor(code = 1) {
    super("exit")
    this.code = code
  }
}

/** Ends the run with the code of a program that it ran, and its message. */
export class ExitError extends Error {
  override readonly name = "ExitError"
  readonly code: number
  constructor(message: string, code: number) {
    super(message)
    this.code = code
  }
}

/** A request took longer than it may. Source: Go's context.DeadlineExceeded. */
export class DeadlineExceeded extends Error {
  override readonly name = "DeadlineExceeded"
}

/** Returns whether an error, or one that it is about, is that of a request that took too long. */
export const isDeadlineExceeded = (err: unknown): boolean =>
  err instanceof DeadlineExceeded || (err instanceof Error && isDeadlineExceeded(err.cause))

/** A request got no answer. Source: Go's url.Error. */
export class UrlError extends Error {
  override readonly name = "UrlError"
  /** `Get`, `Post` … */
  readonly operation: string
  readonly url: string
  readonly reason: Error

  constructor(operation: string, url: string, reason: Error) {
    super(`${operation} ${JSON.stringify(url)}: ${reason.message}`, { cause: reason })
    this.operation = operation
    this.url = url
    this.reason = reason
  }
}

/** A group, version and resource, of which only some may be known. */
export interface PartialResource {
  readonly group: string
  readonly version: string
  readonly resource: string
}

/** No resource of the server has this name. Source: apimachinery pkg/api/meta/errors.go. */
export class NoResourceMatchError extends Error {
  override readonly name = "NoResourceMatchError"
  readonly partial: PartialResource
  constructor(partial: PartialResource) {
    super(`no matches for ${partial.group}/${partial.version}, Resource=${partial.resource}`)
    this.partial = partial
  }
}

/** No resource of the server is of this kind. */
export class NoKindMatchError extends Error {
  override readonly name = "NoKindMatchError"
  constructor(group: string, kind: string, versions: readonly string[]) {
    const groupKind = group === "" ? kind : `${kind}.${group}`
    const searched = [...new Set(versions.map((version) => (group === "" ? version : `${group}/${version}`)))]
    super(
      searched.length === 0
        ? `no matches for kind ${JSON.stringify(groupKind)}`
        : searched.length === 1
          ? `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(searched[0])}`
          : `no matches for kind ${JSON.stringify(kind)} in versions [${searched.map((each) => JSON.stringify(each)).join(" ")}]`,
    )
  }
}

export const isNoMatch = (err: unknown): err is NoResourceMatchError | NoKindMatchError =>
  err instanceof NoResourceMatchError || err instanceof NoKindMatchError

/** Several problems of a kubeconfig. Source: client-go tools/clientcmd/validation.go. */
export class ConfigurationInvalid extends Aggregate {
  override readonly name = "ConfigurationInvalid"
  /** Nothing is wrong but that there is no configuration. */
  readonly isEmpty: boolean
  constructor(errors: readonly Error[], isEmpty = false) {
    super(errors)
    this.message = `invalid configuration: ${this.message}`
    this.isEmpty = isEmpty
  }
}

/** `--context` or `current-context` names no context of the kubeconfig. */
export class ContextNotFound extends Error {
  override readonly name = "ContextNotFound"
  constructor(context: string) {
    super(`context was not found for specified context: ${context}`)
  }
}

/** An answer that is neither an object nor a Status. */
export class UnexpectedObject extends Error {
  override readonly name = "UnexpectedObject"
}
