import { expect, test } from "bun:test"
import { withService } from "./proxier.fixtures.ts"

test.each(["nftables", "iptables"] as const)(
  "a trace of a change has the synchronization of %s, its size and the time in which the rules were written",
  async (mode) => {
    // given a proxy on a machine where writing takes a second of the cluster's time
    await using web = await withService("TCP", { tracing: true })
    const { clock } = web.cluster.contextFor("system:kube-proxy", ["system:masters"])
    let refuses = false
    const proxy = web.proxy(
      {
        run: async (_command, args) => (args.includes("--version") ? "nftables v1.0.6 (Lester Gooch #5)" : ""),
        async feed() {
          if (refuses) throw new Error("the kernel refuses")
          if (started) await new Promise<void>((resolve) => void clock.setTimeout(resolve, 1000))
        },
      },
      mode,
    )
    let started = false
    await proxy.start(new AbortController().signal)
    started = true
    // when an endpoint changes
    await web.point("10.42.0.6")
    await web.cluster.advance("5s")
    // then the request that changed it and the rules are one trace
    const { spans, root } = web.cluster
      .traces()
      .findLast(({ spans }) => spans.some(({ name }) => name === "syncProxyRules"))!
    expect(root?.name).toStartWith("PUT /apis/discovery.k8s.io/v1/namespaces/{:namespace}/endpointslices")
    const sync = spans.find(({ name }) => name === "syncProxyRules")!
    expect(sync.component).toBe("kube-proxy")
    // (the Service kubernetes is there too)
    expect(sync.attributes).toEqual({
      family: "IPv4",
      mode,
      isFull: false,
      changedServices: 1,
      servicePorts: 2,
      endpoints: 2,
    })
    const written = spans.find(({ name }) => name === "Write rules")!
    expect(written.parentSpanId).toBe(sync.context.spanId)
    expect(written.attributes["program"]).toBe(mode === "nftables" ? "nft" : "iptables-restore")
    expect(written.attributes["lines"]).toBeGreaterThan(1)
    expect(written.endTime - written.startTime).toBe(1000)
    // and a failure is told by the span
    refuses = true
    await web.point("10.42.0.7")
    await web.cluster.settle()
    const failed = web.cluster
      .traces()
      .flatMap((trace) => trace.spans)
      .findLast(({ name }) => name === "Write rules")!
    expect(failed.failure).toContain("the kernel refuses")
  },
)
