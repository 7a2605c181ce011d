/** Cluster DNS, as used by pods and by the machine. */
import { beforeAll, expect, test } from "bun:test"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { describeOnNode, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { CLIENT, webPods } from "./web-pods.ts"

describeOnNode("cluster DNS", () => {
  const { started, pods, names, inside, wget, service, rules } = webPods()
  let cluster: Cluster
  beforeAll(() => void ({ cluster } = started()))

  const answers = async (name: string, type?: "srv" | "cname" | "a") => {
    const out = (
      await cluster.kubectl.run([
        "exec",
        CLIENT,
        "--",
        "nslookup",
        ...(type === undefined ? [] : [`-type=${type}`]),
        name,
      ])
    ).out
    return out.slice(out.indexOf("\n\n") + 2).trim()
  }

  test("gives a pod the search domains of its namespace", async () => {
    expect(await inside("cat /etc/resolv.conf")).toMatch(
      /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local.*\nnameserver 10\.43\.0\.10\noptions ndots:5\n/,
    )
  })

  test("resolves every form of a Service's name", async () => {
    await service("named", {})
    await rules("default/named -> ")
    for (const name of [
      "named",
      "named.default",
      "named.default.svc",
      "named.default.svc.cluster.local",
      "named.default.svc.cluster.local.",
    ])
      expect(names as readonly string[]).toContain((await wget(name)).trim())
  })

  test("resolves names for the programs of the example image, with a time limit, and with or without a shell", async () => {
    await service("tools", { selector: { name: "a" } })
    await rules("default/tools -> ")
    const direct = async (...command: string[]) =>
      (await cluster.kubectl.run(["exec", CLIENT, "--", ...command])).out.trim()
    for (const target of ["tools", "tools.default.svc.cluster.local", pods.get("a")!]) {
      const url = `http://${target}/`
      expect(await direct("wget", "-T", "3", "-q", "-O", "-", url)).toBe("a")
      expect((await inside(`wget -T 3 -qO- ${url}`)).trim()).toBe("a")
      expect(await inside(`printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 3 ${target} 80`)).toEndWith("a\n")
    }
    expect(await direct("nslookup", "tools.default.svc.cluster.local")).toContain("Address: 10.43.")
    expect(await inside("ping -c 1 -w 3 localhost")).toContain("0% packet loss")
    expect(await direct("ping", "-c", "1", "-w", "3", pods.get("a")!)).toContain("0% packet loss")
  })

  test("answers for headless Services with the addresses of their pods, and for the host names of these pods", async () => {
    await service("headless", { clusterIP: "None", ports: [{ name: "http", port: 80 }] })
    await cluster.until(
      EndpointSlice,
      (
        await cluster.kubectl.ok([
          "wait",
          "--for=create",
          "endpointslice",
          "-l",
          "kubernetes.io/service-name=headless",
          "--timeout=10s",
          "-o",
          "jsonpath={.metadata.name}",
        ])
      ).trim(),
      ({ endpoints }) => endpoints?.length === 2,
    )
    const all = await answers("headless.default.svc.cluster.local")
    for (const name of names) expect(all).toContain(pods.get(name)!)
    expect(await wget("a.headless")).toBe("a\n")
    const srv = await answers("_http._tcp.headless.default.svc.cluster.local", "srv")
    expect(srv).toMatch(/service = 0 \d+ 80 a\.headless\.default\.svc\.cluster\.local/)
  })

  test("answers reverse queries, queries for ExternalNames and pods, and that a name does not exist", async () => {
    const { spec } = await service("reversed", {})
    await service("alias", { type: "ExternalName", externalName: "named.default.svc.cluster.local", ports: [] })
    await rules("default/reversed -> ")
    expect(await answers(spec.clusterIP!)).toContain("name = reversed.default.svc.cluster.local")
    expect(await answers("alias.default.svc.cluster.local", "cname")).toContain(
      "canonical name = named.default.svc.cluster.local",
    )
    expect(names as readonly string[]).toContain((await wget("alias")).trim())
    expect(await answers(`${pods.get("a")!.replaceAll(".", "-")}.default.pod.cluster.local`)).toContain(pods.get("a")!)
    expect(
      (await cluster.kubectl.run(["exec", CLIENT, "--", "nslookup", "nothing.default.svc.cluster.local"])).out,
    ).toContain("NXDOMAIN")
  })

  test("answers queries of the machine too", async () => {
    expect((await run("/bin/busybox", ["nslookup", "named.default.svc.cluster.local", "10.43.0.10"])).out).toMatch(
      /Address.*: 10\.43\./,
    )
  })
})
