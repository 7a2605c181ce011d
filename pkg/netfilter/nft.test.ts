import { describe, expect, test } from "bun:test"
import type { Host } from "./host.ts"
import { findNft, judgeNft, removeTable } from "./nft.ts"

const DEBIAN_12 = "nftables v1.0.6 (Lester Gooch #5)\n"

describe("nft", () => {
  test.each([
    { title: "of Debian 12 is new enough", version: DEBIAN_12, kernel: "6.1.0-18-amd64", wants: "1.0.6" },
    {
      title: "of the oldest supported version and kernel is new enough",
      version: "nftables v1.0.1",
      kernel: "5.13.0",
      wants: "1.0.1",
    },
    {
      title: "with a version of two numbers is parsed",
      version: "nftables v1.1 (X)",
      kernel: "6.18.44-x",
      wants: "1.1",
    },
    { title: "that is missing is reported", version: undefined, kernel: "6.1.0", wants: "nft is not on the PATH" },
    {
      title: "that is too old is reported",
      version: "nftables v0.9.8",
      kernel: "6.1",
      wants: "nft 0.9.8 is older than 1.0.1",
    },
    {
      title: "of the version before the oldest supported one is reported",
      version: "nftables v1.0.0",
      kernel: "6.1",
      wants: "nft 1.0.0 is older than 1.0.1",
    },
    {
      title: "on a kernel that is too old is reported",
      version: DEBIAN_12,
      kernel: "5.10.0-28",
      wants: "kernel 5.10.0-28 is older than 5.13",
    },
  ])("$title", ({ version, kernel, wants }) => {
    const found = judgeNft(version, kernel)
    expect(found.usable ? found.version : found.reason).toBe(wants)
  })

  test("is not used if the kernel refuses a trial, and the first line of the error is reported", async () => {
    const host: Host = {
      run: async () => DEBIAN_12,
      feed: () => Promise.reject(new Error("nft failed with code 1: Operation not supported\nadd table ip x\n^^^")),
    }
    expect(await findNft(host, ["IPv4"], "6.1.0")).toMatchObject({
      usable: false,
      reason: "the kernel refuses a trial: nft failed with code 1: Operation not supported",
    })
  })

  test("removes a table only if it exists", async () => {
    const fed: string[] = []
    const host: Host = {
      run: async () => "table ip kube-proxy\ntable ip nat\n",
      feed: async (_command, _args, input) => void fed.push(input),
    }
    await removeTable(host, "ip", "kube-proxy")
    await removeTable(host, "ip", "kube")
    expect(fed).toEqual(["delete table ip kube-proxy\n"])
  })

  test.each([
    { title: "if nft is not installed", error: 'Executable not found in $PATH: "nft"', wants: "nothing" },
    { title: "if nft is not in the namespace", error: 'exec of "nft" failed: No such file', wants: "nothing" },
    { title: "if the kernel has no nftables", error: "cache init failed: Protocol not supported", wants: "nothing" },
    { title: "if nft is killed", error: "Command failed: nft list tables ip", wants: "an error" },
    { title: "if nft has no permission", error: "Operation not permitted (you must be root)", wants: "an error" },
  ])("removing a table gives $wants $title", async ({ error, wants }) => {
    const host: Host = { run: () => Promise.reject(new Error(error)), feed: async () => undefined }
    const outcome = await removeTable(host, "ip", "kube-proxy").then(
      () => "nothing",
      () => "an error",
    )
    expect(outcome).toBe(wants)
  })
})
