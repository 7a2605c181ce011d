import { describe, expect, test } from "bun:test"
import { podOf } from "../testing/pod.ts"
import { httpGetRequest, requestPath } from "./http-get.ts"

describe("the path of a probe", () => {
  // What Go's net/url makes of them, but for spaces in a query, which it leaves: no server takes such a request line.
  test.each([
    ["/healthz?full=1&x=%20", "/healthz?full=1&x=%20"],
    ["health", "/health"],
    ["?a=b", "/?a=b"],
    ["", "/"],
    ["/is it well", "/is%20it%20well"],
    ["/gr\u00fcn/\u20ac", "/gr%C3%BCn/%E2%82%AC"],
    ["/x?q=\u00fc y", "/x?q=%C3%BC%20y"],
    ["/x#part", "/x"],
    ["/100%", "/100%25"],
    ["/a%zz?b", "/a%25zz%3Fb"],
    ["/%2F", "/%2F"],
    ["/a|b\\c", "/a%7Cb%5Cc"],
    ["/[x]!'()*;,:@&=+$~", "/[x]!'()*;,:@&=+$~"],
    ["http://elsewhere:1/y", "/y"],
    ["//elsewhere/y", "/y"],
    ["/a/../b", "/a/../b"],
  ])("%j is asked for as %s", (text, expected) => {
    expect(requestPath(text)).toBe(expected)
  })
})

describe("the request of a probe or hook", () => {
  const container = podOf({ containers: [{ name: "c", ports: [{ name: "web", containerPort: 8080 }] }] }).spec
    .containers[0]!
  const request = (
    httpHeaders: readonly { readonly name: string; readonly value: string }[],
    purpose: "probe" | "lifecycle" = "probe",
  ) =>
    httpGetRequest({
      action: { scheme: "HTTP", path: "/x", port: "web", httpHeaders },
      container,
      podIp: "10.42.0.9",
      purpose,
      timeoutMs: 1000,
    })

  test("goes to the pod and the port of that name, and says who asks", () => {
    expect(request([])).toMatchObject({
      host: "10.42.0.9",
      port: 8080,
      headers: [
        { name: "User-Agent", value: expect.stringMatching(/^kube-probe\/1\.\d+$/) as string },
        { name: "Accept", value: "*/*" },
      ],
    })
    expect(request([], "lifecycle").headers[0]?.value).toStartWith("kube-lifecycle/1.")
  })

  test("has the headers that the user names, and lacks those that are named without a value", () => {
    const named = [
      { name: "user-agent", value: "me" },
      { name: "ACCEPT", value: "text/plain" },
      { name: "X-Empty", value: "" },
    ]
    expect(request(named).headers).toEqual(named)
    const without = [
      { name: "User-Agent", value: "" },
      { name: "Accept", value: "" },
    ]
    expect(request(without).headers).toEqual([])
  })
})
