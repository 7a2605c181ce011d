import type { Host } from "../../pkg/netfilter/host.ts"
import { endingWith, type Tracing } from "../../pkg/tracing/tracing.ts"

/**
 * Returns a host whose programs have spans below that of the synchronization which runs them: `Write rules` for input,
 * with the number of its lines, and `Read rules` for output. Rules themselves are left out, since they are long.
 */
export const tracedHost = (host: Host, tracing: Tracing): Host => ({
  run(program, args) {
    const span = tracing.start("Read rules", { kind: "client", attributes: { program } })
    const run = () => host.run(program, args)
    return span === undefined ? run() : endingWith(tracing, span, run)
  },
  feed(program, args, input) {
    const span = tracing.start("Write rules", { kind: "client", attributes: { program } })
    const feed = () => host.feed(program, args, input)
    if (span === undefined) return feed()
    span.set({ lines: linesIn(input) })
    return endingWith(tracing, span, feed)
  },
})

function linesIn(text: string): number {
  let count = 0
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++
  return text === "" || text.endsWith("\n") ? count : count + 1
}
