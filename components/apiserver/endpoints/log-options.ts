import { badRequest, invalid, type Cause } from "../../../pkg/apimachinery/errors.ts"
import { goQuoted, parseInt64 } from "../../../pkg/apimachinery/go/go-text.ts"
import { canonicalTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { forbiddenField, invalidValue, notSupported } from "../../../pkg/apimachinery/validation/field-errors.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { LogOptions } from "../../../pkg/component/node-connector.ts"
import type { Query } from "../call/query.ts"
import { isTrue } from "../call/request-info.ts"

const STREAMS = ["All", "Stderr", "Stdout"] as const
/** The path of a field error about the whole object, as Go prints it. */
const WHOLE = "[]"

/**
 * Reads the options of a pod's log from a query, all but the container. `name` is the pod's, which need not exist.
 * Differs from upstream, which knows `stream` only with an alpha gate: here it may always be given.
 * Source: pkg/apis/core/validation ValidatePodLogOptions, core/v1 PodLogOptions' conversion from url.Values.
 * @throws ApiError 400 for what cannot be read, 422 for what is out of bounds
 */
export function logOptionsOf(query: Query, name: string): Omit<LogOptions, "container"> {
  const sinceSeconds = numberOf(query, "sinceSeconds")
  const sinceTime = timeOf(query, "sinceTime")
  const tailLines = numberOf(query, "tailLines")
  const limitBytes = numberOf(query, "limitBytes")
  const given = query.get("stream")
  const stream = STREAMS.find((one) => one === given)
  const causes: Cause[] = []
  if (tailLines !== undefined && tailLines < 0)
    causes.push(invalidValue("tailLines", tailLines, "must be greater than or equal to 0"))
  if (limitBytes !== undefined && limitBytes < 1)
    causes.push(invalidValue("limitBytes", limitBytes, "must be greater than 0"))
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    causes.push(forbiddenField(WHOLE, "at most one of `sinceTime` or `sinceSeconds` may be specified"))
  else if (sinceSeconds !== undefined && sinceSeconds < 1)
    causes.push(invalidValue("sinceSeconds", sinceSeconds, "must be greater than 0"))
  if (given !== undefined && stream === undefined) causes.push(notSupported("stream", given, STREAMS))
  if (given !== undefined && given !== "All" && tailLines !== undefined)
    causes.push(forbiddenField(WHOLE, "`tailLines` and specific `stream` are mutually exclusive for now"))
  if (causes.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, name, causes)
  return {
    follow: isTrue(query.get("follow")),
    previous: isTrue(query.get("previous")),
    timestamps: isTrue(query.get("timestamps")),
    ...(sinceSeconds === undefined ? {} : { sinceSeconds }),
    ...(sinceTime === undefined ? {} : { sinceTime }),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(stream === undefined ? {} : { stream }),
  }
}

function numberOf(query: Query, name: string): number | undefined {
  const text = query.get(name)
  if (text === undefined) return undefined
  try {
    return Number(parseInt64(text))
  } catch (err) {
    throw badRequest(errorMessage(err))
  }
}

/** Returns the time as it was given; an empty one counts as absent. */
function timeOf(query: Query, name: string): string | undefined {
  const text = query.get(name)
  if (text === undefined || text === "") return undefined
  if (canonicalTime(text) === undefined)
    throw badRequest(
      `parsing time ${goQuoted(text)} as "2006-01-02T15:04:05Z07:00": cannot parse ${goQuoted(text)} as "2006"`,
    )
  return text
}
