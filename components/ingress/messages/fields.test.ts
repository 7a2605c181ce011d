import { expect, test } from "bun:test"
import { answerFields, fieldOf, requestFields } from "./fields.ts"

const fields = (texts: readonly string[]) =>
  texts.map((text) => fieldOf(text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 2)))
const texts = (list: readonly { readonly name: string; readonly value: string }[]) =>
  list.map(({ name, value }) => `${name}: ${value}`)

const FORWARDED = [
  "X-Forwarded-For: 192.0.2.7",
  "X-Forwarded-Host: shop.example:8443",
  "X-Forwarded-Port: 443",
  "X-Forwarded-Proto: https",
  "X-Real-IP: 192.0.2.7",
]

test.each([
  {
    title: "the ends of the connection",
    given: ["Connection: close", "Keep-Alive: timeout=5", "Upgrade: x"],
    wants: [],
  },
  {
    title: "the fields that Connection names",
    given: ["Connection: X-Hop, close", "x-hop: 1", "X-Stays: 2"],
    wants: ["X-Stays: 2"],
  },
  {
    title: "the field Connection alone, if the name in it ends with a no-break space, which is no space of HTTP",
    given: ["Connection: X-Stays\xa0", "X-Stays: 2"],
    wants: ["X-Stays: 2"],
  },
  {
    title: "its credentials, although Connection names them",
    given: ["Connection: Cookie", "Cookie: a"],
    wants: ["Cookie: a"],
  },
  {
    title: "its framing",
    given: ["Transfer-Encoding: chunked", "Content-Length: 4", "Expect: 100-continue"],
    wants: [],
  },
  { title: "TE, except for trailers", given: ["TE: gzip, trailers"], wants: ["TE: trailers"] },
  {
    title: "forged X-Forwarded fields",
    given: ["X-Forwarded-For: 10.0.0.1", "x_forwarded_proto: https", "Forwarded: for=1", "X-Real_IP: 1", "Proxy: evil"],
    wants: [],
  },
  {
    title: "our own fields, although Connection names them",
    given: ["Connection: X-Forwarded-For", "Accept: */*"],
    wants: ["Accept: */*"],
  },
])("a request is forwarded to the backend without $title", ({ given, wants }) => {
  const sent = requestFields(fields(["Host: shop.example:8443", ...given]), "shop.example:8443", {
    client: "192.0.2.7",
    isSecure: true,
    port: 443,
    listener: 443,
    address: "192.0.2.1",
    serverName: "shop.example",
  })
  expect(texts(sent)).toEqual([...wants, ...FORWARDED])
})

test("a response is forwarded to the client without the fields about the connection", () => {
  const sent = [
    "Connection: X-Hop",
    "X-Hop: 1",
    "Transfer-Encoding: chunked",
    "Content-Length: 3",
    "Set-Cookie: a",
    "set-cookie: b",
  ]
  expect(texts(answerFields(fields(sent)))).toEqual(["Content-Length: 3", "Set-Cookie: a", "set-cookie: b"])
})
