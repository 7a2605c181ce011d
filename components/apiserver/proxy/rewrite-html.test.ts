import { describe, expect, test } from "bun:test"
import { HtmlLinks } from "./rewrite-html.ts"

const prefixed = (address: string) => (address.startsWith("/") ? `/p${address}` : address)

/** Writes a page into the rewriter in pieces of `size` bytes, and returns what the rewriter wrote. */
function through(page: string, size = page.length + 1): string {
  const links = new HtmlLinks(prefixed)
  let out = ""
  links.on("data", (part: Buffer) => (out += part.toString("latin1")))
  for (let i = 0; i < page.length; i += size) links.write(Buffer.from(page.slice(i, i + size), "latin1"))
  links.end()
  return out
}

const CASES = [
  { what: "a link", page: '<a href="/x">/y</a>', out: '<a href="/p/x">/y</a>' },
  { what: "single quotes", page: "<A class=x HREF='/x'>", out: "<A class=x HREF='/p/x'>" },
  { what: "no quotes", page: "<img src=/x.png alt=/no>", out: "<img src=/p/x.png alt=/no>" },
  { what: "a relative link", page: '<a href="x">', out: '<a href="x">' },
  { what: "another attribute", page: '<a data="/x" title=" href=/y">', out: '<a data="/x" title=" href=/y">' },
  { what: "another element", page: '<p href="/x"><object data="/y">', out: '<p href="/x"><object data="/p/y">' },
  { what: "a > in a value", page: '<a title=">" href="/x">', out: '<a title=">" href="/p/x">' },
  { what: "a comment", page: '<!-- <a href="/x"> --><a href="/y">', out: '<!-- <a href="/x"> --><a href="/p/y">' },
  {
    what: "a script",
    page: `<script src="/s.js">s = '<a href="/x">'; if (a </b) {}</SCRIPT ><a href="/y">`,
    out: `<script src="/p/s.js">s = '<a href="/x">'; if (a </b) {}</SCRIPT ><a href="/p/y">`,
  },
  { what: "a lone sign for less than", page: '1 < 2 <3 << <a href="/x">', out: '1 < 2 <3 << <a href="/p/x">' },
  { what: "a doctype", page: '<!doctype html><html manifest="/m">', out: '<!doctype html><html manifest="/p/m">' },
  { what: "the name of an inherited property", page: '<constructor href="/x">', out: '<constructor href="/x">' },
  { what: "bytes beyond ASCII", page: '\xff<a href="/\xe4">\x80', out: '\xff<a href="/p/\xe4">\x80' },
  { what: "a page that ends inside a tag", page: '<b>x</b><a href="/x', out: '<b>x</b><a href="/x' },
]

describe("a page through a proxy", () => {
  test.each(CASES)("with $what is rewritten", ({ page, out }) => {
    expect(through(page)).toBe(out)
  })

  test.each(CASES)("with $what is rewritten the same in pieces of any size", ({ page, out }) => {
    for (let size = 1; size < page.length; size++) expect(through(page, size)).toBe(out)
  })

  test("is rewritten and sent on while it still arrives", () => {
    const links = new HtmlLinks(prefixed)
    let out = ""
    links.on("data", (part: Buffer) => (out += part.toString("latin1")))
    links.write('<p>first</p><a href="/x')
    expect(out).toBe("<p>first</p>")
    links.write('"><i')
    expect(out).toBe('<p>first</p><a href="/p/x">')
  })

  test.each([
    { what: "a tag without an end", piece: '<a href="/x" ' + "x".repeat(1000) },
    { what: "a value without an end", piece: '<a href="' + "x".repeat(1000) },
    { what: "only the beginnings of tags", piece: "<a".repeat(500) },
    { what: "only signs for less than", piece: "<".repeat(1000) },
    { what: "only links", piece: '<a href="/x">'.repeat(80) },
    { what: "quotes between quotes", piece: `<a ' a=" a=" a=" '>`.repeat(50) },
    { what: "a comment without an end", piece: "<!--" + "-".repeat(1000) },
    { what: "a script without an end", piece: "<script>" + "</scrip".repeat(150) },
  ])("with $what is sent on as it arrives, and little of it is ever read again", ({ piece }) => {
    const links = new HtmlLinks((address) => address)
    let came = 0
    links.on("data", (part: Buffer) => (came += part.length))
    let went = 0
    let behind = 0
    for (let i = 0; i < 1000; i++) {
      links.write(piece)
      went += piece.length
      behind = Math.max(behind, went - came)
    }
    // What is held back is read again with each piece: a bound of it bounds the work of each piece, too.
    expect(behind).toBeLessThan(20_000)
  })
})
