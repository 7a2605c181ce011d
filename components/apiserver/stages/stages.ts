import type { ServerOptions } from "../server-options.ts"
import { FairShare } from "../../../pkg/flow/fair-share.ts"
import { UNFINISHED_BODY_BYTES } from "../codec/body.ts"
import type { Call } from "./call.ts"
import { answer } from "./answer.ts"
import { audited } from "./audited.ts"
import { authenticated } from "./authenticated.ts"
import { authorized } from "./authorized.ts"
import { inTurn } from "./in-turn.ts"
import { received } from "./received.ts"
import { routed } from "./routed.ts"
import { Stages, type Serve } from "./stage.ts"

/**
 * The way of a request over HTTP, in order. Before it the audit event of the request begins, and after it the request
 * is counted and audited (server.ts).
 *
 * A call of a component of this process enters behind it, at the pipeline. It is authorized there and waits for its
 * turn, but it has no sender to find out, acts as nobody else, has no body to be read and no time limit. Where a policy
 * wants that, it is audited as it enters (audit/audited-pipeline.ts). The pipeline goes on with admission, registry and
 * store for both (pipeline.ts).
 */
export function stages(options: ServerOptions): Serve<Call> {
  const bodies = new FairShare(UNFINISHED_BODY_BYTES)
  const { audit } = options
  const known = Stages.from(authenticated(options)) // who sends it
  return (audit === undefined ? known : known.to(audited(audit))) // what the audit policy says of it
    .to(authorized(options)) //                  as whom, and whether that user may
    .to(routed(options)) //                      what serves it
    .to(received(bodies)) //                     its body, which clients may send slowly
    .to(inTurn(options, bodies)) //              when it may begin
    .end(answer(options.metrics))
}
