import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Watch } from "../../../pkg/client/client.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import type { WatchBatch } from "../call/frame.ts"
import { isPending } from "../call/maybe-promise.ts"
import type { AuditNotes } from "../call/audit-notes.ts"
import type { ApiRequest, ApiResult, Pipeline, WatchSink } from "../call/request.ts"
import { responseJson } from "../codec/response-json.ts"
import type { AuditInfo, AuditSink } from "./audit-sink.ts"
import { authorizedName } from "../authorization/authorize.ts"
import type { Audited } from "./audited.ts"
import { requestPath, requestUri } from "./request-uri.ts"

export interface AuditedPipelineParts {
  readonly audit: AuditSink
  readonly clock: Clock
  readonly scheme: Pick<Scheme, "of">
  readonly nextAuditId: () => string
}

/** A call of this process that is audited. */
interface AuditedCall {
  readonly request: ApiRequest
  readonly audited: Audited
  readonly info: AuditInfo
  readonly notes: AuditNotes
  readonly began: number
}

/**
 * Returns a pipeline whose calls have audit events, as if each had come over HTTP: components of this process enter
 * here. Calls that the policy does not cover pass on unchanged.
 */
export function auditedPipeline(pipeline: Pipeline, parts: AuditedPipelineParts): Pipeline {
  const { audit, clock, scheme, nextAuditId } = parts

  function begin(request: ApiRequest): AuditedCall {
    const notes = audit.began()
    notes.sender = notes.user = request.user
    const { verb, resource, subresource = "", namespace = "" } = request
    const name = authorizedName(verb, request.name, request.options.fieldSelector) ?? ""
    const { group, version, plural } = resource
    return {
      request,
      notes,
      info: {
        ...{ verb, group, version, subresource, namespace, name, resource: plural, isResource: true },
        path: requestPath(request),
      },
      audited: {
        auditId: nextAuditId(),
        uri: requestUri(request),
        userAgent: () => request.userAgent,
        sourceIPs: () => OWN_ADDRESSES,
      },
      began: clock.monotonic(),
    }
  }

  function end({ audited, info, notes, began }: AuditedCall, code: number): void {
    audit.ended(audited, info, notes, { code, seconds: info.verb === "watch" ? 0 : (clock.monotonic() - began) / 1000 })
  }

  function fail(call: AuditedCall, err: unknown): void {
    const { notes } = call
    const status = ApiError.from(err).toStatus()
    notes.status = status
    if (notes.showsResponse) notes.responseObject = JSON.stringify(status)
    end(call, status.code ?? 500)
  }

  function succeed(call: AuditedCall, result: ApiResult): ApiResult {
    const { request, notes } = call
    if (result.kind === "status") notes.status = result.status
    if (notes.showsResponse)
      notes.responseObject = responseJson(
        result,
        request.resource,
        { accepted: PLAIN_JSON, pretty: false, now: clock.now(), includeObject: "Metadata", scheme },
        notes.decision?.omitManagedFields === true,
      )
    end(call, result.kind === "list" ? 200 : result.code)
    return result
  }

  /** Notes the body of a call, and returns the request as the pipeline gets it. */
  function noted({ request, notes }: AuditedCall): ApiRequest {
    const { verb, patch, options } = request
    const annotated = { ...request, annotate: notes.annotate, requested: notes.requested }
    if (!notes.showsRequest) return annotated
    if (patch !== undefined) notes.requestedAs(patch.body)
    else if (verb === "delete" || verb === "deletecollection") notes.requestedAs(deleteOptionsIn(options))
    return annotated
  }

  function perform(call: AuditedCall): ApiResult | Promise<ApiResult> {
    const failed = (err: unknown): never => {
      fail(call, err)
      throw err
    }
    try {
      const result = pipeline.handle(noted(call))
      if (isPending(result)) return result.then((value) => succeed(call, value), failed)
      return succeed(call, result)
    } catch (err) {
      return failed(err)
    }
  }

  function watch(call: AuditedCall, sink: WatchSink): Watch {
    let isOver = false
    const over = () => {
      if (!isOver) end(call, 200)
      isOver = true
    }
    try {
      const watching = pipeline.watch(noted(call), new AuditedSink(sink, over))
      audit.started(call.audited, call.info, call.notes, 200)
      return {
        close() {
          watching.close()
          over()
        },
      }
    } catch (err) {
      fail(call, err)
      throw err
    }
  }

  return {
    handle(request) {
      const call = begin(request)
      const kept = audit.received(call.audited, call.info, call.notes)
      if (call.notes.decision?.level === "None") return pipeline.handle(request)
      return kept === undefined ? perform(call) : kept.then(() => perform(call))
    },
    watch(request, sink) {
      const call = begin(request)
      // A watch begins in the same turn, so it does not wait for a backend.
      Promise.resolve(audit.received(call.audited, call.info, call.notes)).catch(() => undefined)
      return call.notes.decision?.level === "None" ? pipeline.watch(request, sink) : watch(call, sink)
    },
    authorize: (request) => pipeline.authorize(request),
  }
}

/** Passes the frames of a watch on, and tells when it ends. */
class AuditedSink implements WatchSink {
  readonly #sink: WatchSink
  readonly #over: () => void
  constructor(sink: WatchSink, over: () => void) {
    this.#sink = sink
    this.#over = over
  }
  send(batch: WatchBatch): boolean {
    return this.#sink.send(batch)
  }
  end(error: ApiError | undefined): void {
    this.#over()
    this.#sink.end(error)
  }
}

const OWN_ADDRESSES = ["127.0.0.1"]
const PLAIN_JSON = { encoding: "json", as: undefined, asVersion: "v1", pretty: false } as const

/** The body of a DELETE, as client-go sends it. */
const deleteOptionsIn = (options: ApiRequest["options"]) => ({
  kind: "DeleteOptions",
  apiVersion: "v1",
  gracePeriodSeconds: options.gracePeriodSeconds,
  preconditions: options.preconditions,
  propagationPolicy: options.propagationPolicy,
  orphanDependents: options.orphanDependents,
  dryRun: options.dryRun === true ? ["All"] : undefined,
})
