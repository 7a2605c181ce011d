import { describe, expect, test } from "bun:test"
import { protocolsWithoutToken, tokenOfProtocols } from "./websocket-token.ts"

const PREFIX = "base64url.bearer.authorization.k8s.io."
const offering = (token: string | Uint8Array) => PREFIX + Buffer.from(token).toString("base64url")

describe("a token among the WebSocket subprotocols", () => {
  test.each([
    {
      title: "can be offered beside another protocol",
      values: [`${offering("t0ken")}, v5.channel.k8s.io`],
      token: "t0ken",
    },
    { title: "can be in a header of its own", values: ["v5.channel.k8s.io", offering("t0ken")], token: "t0ken" },
    { title: "can have any characters", values: [`a,${offering("ä?>~")}`], token: "ä?>~" },
    { title: "can be missing", values: ["v5.channel.k8s.io"], token: undefined },
    { title: "that is empty is ignored", values: [PREFIX], token: undefined },
  ])("$title", ({ values, token }) => {
    expect(tokenOfProtocols(values)).toBe(token)
  })

  test.each([
    { title: "offered twice", values: [`a, ${offering("x")}`, offering("x")] },
    { title: "offered alone", values: [offering("x")] },
    { title: "with padding", values: [`a, ${PREFIX}eA==`] },
    { title: "in the standard base64 alphabet", values: [`a, ${PREFIX}+/+/`] },
    { title: "that is truncated", values: [`a, ${PREFIX}eHh4e`] },
    { title: "that is no UTF-8", values: [`a, ${offering(new Uint8Array([0xff, 0xfe]))}`] },
  ])("$title is refused", ({ values }) => {
    expect(() => tokenOfProtocols(values)).toThrow("Unauthorized")
  })
})

test.each([
  { values: [`a, ${offering("x")}, b`], left: "a, b" },
  { values: ["a", offering("x"), offering("y"), "b"], left: "a, b" },
  { values: [offering("x")], left: undefined },
])("the token is removed from $values", ({ values, left }) => {
  expect(protocolsWithoutToken(values)).toBe(left)
})
