import { describe, expect, test } from "bun:test"
import { silent } from "../../pkg/log/log.ts"
import type { Host } from "../../pkg/netfilter/host.ts"
import { chooseMode } from "./mode.ts"
import type { ProxyMode } from "./rule-writer.ts"

describe("the mode of kube-proxy", () => {
  const answering = (nft: string | undefined): Host => ({
    run: (command) =>
      command === "nft" && nft === undefined ? Promise.reject(new Error("ENOENT")) : Promise.resolve(nft ?? ""),
    feed: async () => undefined,
  })
  const NEW = "nftables v1.0.6 (X)"
  const OLD = "nftables v0.9.8 (X)"
  test.each([
    { title: "nftables if the machine supports it", nft: NEW, asked: undefined, wants: "nftables" },
    { title: "iptables if nft is too old", nft: OLD, asked: undefined, wants: "iptables" },
    { title: "iptables if there is no nft", nft: undefined, asked: undefined, wants: "iptables" },
    { title: "iptables if it is configured", nft: NEW, asked: "iptables" as const, wants: "iptables" },
    { title: "nftables if it is configured", nft: NEW, asked: "nftables" as const, wants: "nftables" },
  ])("is $title", async ({ nft, asked, wants }) => {
    expect(await chooseMode(asked, ["IPv4", "IPv6"], answering(nft), silent)).toBe(wants as ProxyMode)
  })

  test("is refused, with what to do, if it is configured and not supported", async () => {
    await expect(chooseMode("nftables", ["IPv4"], answering(undefined), silent)).rejects.toThrow(
      "Cannot serve Services by nftables: nft is not on the PATH; apt-get install nftables",
    )
  })
})
