import { posix } from "node:path"
import { Marked, type Tokens } from "marked"
import { htmlOf, PAGES } from "./pages.ts"

/** Returns the anchor of a heading, as GitHub makes it: `Kubernetes' answers` is `kubernetes-answers`. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-")

/** A link of a page: its target, as it is written. */
export interface Link {
  readonly href: string
}

/** Returns the headings' anchors and the links of a page. */
export function outline(text: string): { readonly anchors: ReadonlySet<string>; readonly links: readonly Link[] } {
  const marked = new Marked()
  const anchors = new Set<string>()
  const links: Link[] = []
  void marked.walkTokens(marked.lexer(text), (token) => {
    if (token.type === "heading") anchors.add(anchorOf(plain((token as Tokens.Heading).text)))
    if (token.type === "link" || token.type === "image") links.push({ href: (token as Tokens.Link).href })
  })
  return { anchors, links }
}

export interface RenderOptions {
  /** The file of the page, from the top of the tree. */
  readonly source: string
  /** The URL under which files of the tree can be read; without it, they are named and not linked. */
  readonly files?: string | undefined
}

/** Returns the page as HTML, without the frame around it. */
export function render(text: string, options: RenderOptions): string {
  const marked = new Marked({
    renderer: {
      link({ href, tokens }) {
        const target = targetOf(href, options)
        const content = this.parser.parseInline(tokens)
        return target === undefined ? content : `<a href="${target.replaceAll('"', "%22")}">${content}</a>`
      },
      heading({ tokens, depth, text: heading }) {
        const anchor = anchorOf(plain(heading))
        const content = this.parser.parseInline(tokens)
        return `<h${depth} id="${anchor}">${content} <a class="anchor" href="#${anchor}">#</a></h${depth}>\n`
      },
    },
  })
  return marked.parse(text, { async: false })
}

/** Returns the text of a heading without its marks. */
const plain = (heading: string): string => heading.replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, "$1")

/** Returns where a link of a page leads in the site; undefined for nowhere. */
function targetOf(href: string, { source, files }: RenderOptions): string | undefined {
  if (/^[a-z]+:|^#/i.test(href)) return href
  const [path = "", anchor] = href.split("#")
  const file = posix.join(posix.dirname(source), path)
  const isPage = PAGES.some((page) => page.source === file)
  if (!isPage && files === undefined) return undefined
  return `${isPage ? htmlOf(file) : `${files}/${file}`}${anchor === undefined ? "" : `#${anchor}`}`
}
