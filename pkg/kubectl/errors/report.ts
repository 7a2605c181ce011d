import { errorMessage } from "../../errors/error-message.ts"
import { Aggregate, flatten } from "./aggregate.ts"
import {
  ConfigurationInvalid,
  ContextNotFound,
  ExitError,
  NoResourceMatchError,
  SilentExit,
  UnexpectedObject,
  UrlError,
} from "./errors.ts"
import { StatusError, type Status } from "./status-error.ts"

/** What a run that ends by an error says, and its exit code. An empty text says nothing. */
export interface Report {
  readonly text: string
  readonly code: number
}

/** Source of the behaviour: kubectl pkg/cmd/util/helpers.go (checkErr). */
export function reportOf(thrown: unknown): Report {
  const err = thrown instanceof Aggregate && thrown.errors.length === 1 ? thrown.errors[0] : thrown
  if (err instanceof SilentExit) return { text: "", code: err.code }
  if (err instanceof ExitError) return { text: err.message, code: err.code }
  if (err instanceof StatusError && err.reason === "Invalid") return { text: invalidText(err.status), code: 1 }
  if (err instanceof ConfigurationInvalid || err instanceof ContextNotFound)
    return { text: multilineError("Error in configuration: ", err), code: 1 }
  if (err instanceof NoResourceMatchError) return { text: noResourceText(err), code: 1 }
  if (err instanceof Aggregate) return { text: err.errors.map((each) => `${messageFor(each)}\n`).join(""), code: 1 }
  const standard = standardMessage(err)
  if (standard !== undefined) return { text: standard, code: 1 }
  const message = errorMessage(err)
  return { text: message.startsWith("error: ") ? message : `error: ${message}`, code: 1 }
}

/** Returns kubectl's words for errors of the server and of the way to it; undefined for others. */
export function standardMessage(err: unknown): string | undefined {
  if (err instanceof StatusError) {
    if (err.reason === "Unauthorized") return `error: You must be logged in to the server (${err.message})`
    return err.reason === "" ? `Error from server: ${err.message}` : `Error from server (${err.reason}): ${err.message}`
  }
  if (err instanceof UnexpectedObject) return `Server returned an unexpected response: ${err.message}`
  if (err instanceof UrlError) {
    if (!err.reason.message.includes("connection refused"))
      return `Unable to connect to the server: ${err.reason.message}`
    const [, host = err.url] = /^https?:\/\/(?:[^/@]*@)?([^/?#]*)/.exec(err.url) ?? []
    return `The connection to the server ${host} was refused - did you specify the right host or port?`
  }
  return undefined
}

/** The error as one line among others. */
export const messageFor = (err: unknown): string => standardMessage(err) ?? errorMessage(err)

/** Several errors as a list below a prefix. */
export function multilineError(prefix: string, err: unknown): string {
  if (!(err instanceof Aggregate)) return `${prefix}${errorMessage(err)}\n`
  const errors = flatten(err)
  if (errors.length <= 1) return `${prefix}${messageFor(errors[0])}\n`
  return `${prefix}\n${errors.map((each) => `* ${messageFor(each)}\n`).join("")}`
}

function invalidText({ details, message = "" }: Status): string {
  let text = "The request is invalid"
  if (details === undefined) return message === "" ? text : `${text}: ${message}`
  const { kind = "", name = "", causes = [] } = details
  if (kind !== "" || name !== "") text = `The ${kind} ${JSON.stringify(name)} is invalid`
  else if (message !== "" && causes.length === 0) text += `: ${message}`
  if (causes.length === 0) return text
  const messages = [...new Set(causes.map((cause) => `${cause.field ?? ""}: ${cause.message ?? ""}`))]
  return multilineError(`${text}: `, new Aggregate(messages.map((each) => new Error(each))))
}

function noResourceText({ partial: { group, version, resource } }: NoResourceMatchError): string {
  const place = [
    group === "" ? "" : `group ${JSON.stringify(group)}`,
    version === "" ? "" : `version ${JSON.stringify(version)}`,
  ].filter((part) => part !== "")
  const where = place.length === 0 ? "" : ` in ${place.join(" and ")}`
  return `the server doesn't have a resource type ${JSON.stringify(resource)}${where}`
}
