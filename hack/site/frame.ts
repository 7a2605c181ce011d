import { htmlOf, PARTS, type Page } from "./pages.ts"

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --quiet: light-dark(#f6f6f6, #222); }
body { display: grid; grid-template-columns: 15rem minmax(0, 52rem); gap: 2.5rem; margin: 0 auto; max-width: 72rem;
  padding: 1.5rem; font: 1rem/1.6 system-ui, sans-serif; }
nav { position: sticky; top: 1.5rem; align-self: start; font-size: .95rem; }
nav h2 { font-size: .8rem; text-transform: uppercase; margin: 1.2rem 0 .2rem; opacity: .7; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { text-decoration: none; }
nav a[aria-current] { font-weight: 600; }
pre { background: var(--quiet); padding: .8rem 1rem; overflow-x: auto; border-radius: .4rem; }
code { font: .9em ui-monospace, monospace; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
.anchor { opacity: 0; text-decoration: none; }
:hover > .anchor { opacity: .5; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; } }
`

/** Returns the whole HTML of a page: the table of contents, then `content`. */
export function framed(page: Page, content: string): string {
  const contents = PARTS.map(
    ({ title, pages }) =>
      `<h2>${title}</h2>\n<ul>\n${pages
        .map(
          ({ source, title }) =>
            `<li><a href="${htmlOf(source)}"${source === page.source ? ' aria-current="page"' : ""}>${title}</a></li>\n`,
        )
        .join("")}</ul>`,
  ).join("\n")
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title}${page.source === "README.md" ? "" : " – k3ts"}</title>
<style>${STYLE}</style>
</head>
<body>
<nav>
${contents}
</nav>
<main>
${content}</main>
</body>
</html>
`
}
