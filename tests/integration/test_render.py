"""Rendering in the sandbox image: what is seen, that it is seen the same way again, and what cannot hold it up."""

import io
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image as Picture

from cases.capture import BARE, FULL, PAGE, TEXTLESS, Capture, Sweep
from cases.contract import Locator, Step
from cases.plan import Plan, PlanShot, Settings, Size, SweepPath
from ledger.records import kinds
from runners.backend import Job, Rendered
from runners.container import Engine, Mount, RunSpec, labels
from runners.drive import SECCOMP, mounts
from runners.image import Image, ensure
from runners.render import environment, render, render_native
from store.digest import Digest
from store.directory import load_tree, save_tree
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry

pytestmark = pytest.mark.docker

DESKTOP = Size(800, 600)
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="50" height="50"><rect width="50" height="50" fill="green"/></svg>'
)
RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 255, 255)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine.connect()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def image(engine: Engine) -> Image:
    return ensure(engine=engine)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects", "none")


Draw = Callable[..., Rendered]


@pytest.fixture
def draw(engine: Engine, image: Image, store: ObjectStore) -> Draw:
    """Renders pages, given as text by path, by their names as shots, or with shots of the test's own."""

    def draw(
        pages: dict[str, str | bytes], *shots: PlanShot, sweep: tuple[SweepPath, ...] = (), **settings: object
    ) -> Rendered:
        files = {path: text.encode() if isinstance(text, str) else text for path, text in pages.items()}
        tree = Tree.of(TreeEntry.file(path, store.put_bytes(data), len(data)) for path, data in files.items())
        every = shots or tuple(shot(path.removesuffix(".html"), f"/{path}") for path in files if path.endswith(".html"))
        plan = Plan(Settings(**{"shot_ms": 20_000, **settings}), every, sweep)
        return render(engine, store, image, uuid.uuid4().hex[:12], save_tree(store, tree), plan, job())

    return draw


def job() -> Job:
    limits = kinds.Limits(seconds=60, memory=1 << 30, cpus=1000, pids=64, workspace=1 << 26)
    nothing = Digest.of(b"")
    return Job(
        f"attempt-{uuid.uuid4().hex[:8]}",
        nothing,
        kinds.Agent(adapter="noop", version="1", argv=[], files=None),
        None,
        limits,
    )


def shot(name: str, path: str, *steps: Step, viewport: Size = DESKTOP) -> PlanShot:
    return PlanShot(f"{name}.desktop.initial", path, viewport, steps)


class Seen:
    """One capture, read back."""

    def __init__(self, store: ObjectStore, rendered: Rendered, index: int = 0) -> None:
        found = rendered.shots[index]
        assert found.tree is not None, (found.error, rendered.log.decode())
        self.tree = load_tree(store, found.tree)
        self.store = store
        self.page = Capture.parse(self.bytes(PAGE))

    def bytes(self, name: str) -> bytes:
        entry = self.tree.get(name)
        assert entry is not None
        assert entry.digest is not None
        return self.store.get(entry.digest)

    def colors(self, name: str) -> set[tuple[int, int, int]]:
        with Picture.open(io.BytesIO(self.bytes(name))) as picture:
            assert picture.size == (self.page.width, self.page.height)
            return {color for _, color in picture.convert("RGB").getcolors(1 << 24)}


def html(body: str, style: str = "") -> str:
    return (
        f"<!doctype html><html lang=en><head><title>t</title><style>body{{margin:0}}{style}</style></head><body>{body}"
    )


def node(page: Capture, tag: str) -> int:
    return next(index for index, found in enumerate(page.nodes) if found.tag == tag)


LIVELY = html(
    "<h1>Words</h1><div class=a></div><p id=out></p><canvas width=100 height=100></canvas><img src=a.svg>"
    "<svg width=40 height=40><rect width=20 height=20>"
    "<animate attributeName=x from=0 to=20 dur=1s repeatCount=indefinite /></rect></svg>"
    "<div style='height:2000px'></div><img loading=lazy src='a.svg?lazy'>"
    "<script>"
    "const say = (t) => out.append(t + ' ');"
    "say(Math.random()); say(new Date().toISOString()); say(performance.now());"
    "say(crypto.randomUUID()); say(crypto.getRandomValues(new Uint8Array(4)).join());"
    "setInterval(() => say(Date.now() % 100000), 333); setInterval(() => {}, 0);"
    "const c = document.querySelector('canvas').getContext('2d');"
    "const paint = (t) => { c.fillStyle = `hsl(${Math.random() * 360} 80% 50%)`;"
    " c.fillRect(t % 90, Math.random() * 90, 9, 9); requestAnimationFrame(paint); }; requestAnimationFrame(paint);"
    "fetch('https://example.com/pixel').catch((e) => say(e.name));"
    "</script>",
    "@keyframes k{to{margin-left:500px}} .a{width:50px;height:50px;background:red;animation:k 3s infinite linear}"
    "h1{transition:color 5s;color:#123} h1:hover{color:red}",
)


def test_three_runs_give_the_same_bytes(draw: Draw) -> None:
    pages = {"index.html": LIVELY, "a.svg": SVG}
    first, second, third = (draw(pages, sweep=(SweepPath("/", (320, 800)),)) for _ in range(3))
    assert first.shots[0].tree is not None, first.log
    assert first.shots == second.shots == third.shots
    assert first.sweep == second.sweep == third.sweep


def test_page_sees_the_plan_s_time_and_seed(draw: Draw, store: ObjectStore) -> None:
    page = html(
        "<p id=o></p><script>o.append(new Date().toISOString(), ' ', performance.now(), ' ', Math.random())</script>"
    )
    one = Seen(store, draw({"index.html": page}, seed=1, clock="2026-03-04T05:06:07Z")).page
    two = Seen(store, draw({"index.html": page}, seed=2, clock="2026-03-04T05:06:07Z")).page
    text = one.nodes[node(one, "p")].text
    assert text.startswith("2026-03-04T05:06:07.000Z 0 0.")
    assert two.nodes[node(two, "p")].text != text


def test_text_is_hidden_in_the_second_picture_and_rasters_in_the_third(draw: Draw, store: ObjectStore) -> None:
    page = html(
        "<p>words</p><input value=typed><input placeholder=asked><ul><li>item</li></ul><div class=clip>clipped</div>"
        "<svg width=100 height=30><text y=20 fill=red>drawn</text></svg><img src=a.svg><div class=bg></div>"
        "<div class=g></div><canvas id=c width=20 height=20></canvas>"
        "<script>const x=c.getContext('2d');x.fillStyle='#f0f';x.fillRect(0,0,20,20)</script>",
        "*{color:red;font:20px sans-serif;border:0} ::placeholder{color:red} p::before{content:'before';color:red}"
        "input{background:white} .bg{width:50px;height:50px;background:url(a.svg)}"
        ".g{height:20px;background:linear-gradient(blue,blue)} p{text-shadow:1px 1px red;text-decoration:underline}"
        ".clip{background:red;-webkit-background-clip:text;color:transparent}",
    )
    seen = Seen(store, draw({"index.html": page, "a.svg": SVG}))
    assert {RED, GREEN, BLUE, (255, 0, 255)} <= seen.colors(FULL)
    assert seen.colors(TEXTLESS) == {GREEN, BLUE, WHITE, (255, 0, 255)}
    assert seen.colors(BARE) == {BLUE, WHITE}
    assert not seen.page.resist
    assert seen.page.unstable == ()
    assert len(seen.page.rasters) == 3
    assert {"words", "before", "typed", "asked", "item", "clipped", "drawn"} <= {line.text for line in seen.page.lines}


FIGHTS = {
    "layer": "@layer{p{color:red!important;-webkit-text-fill-color:red!important}img{visibility:visible!important}}",
    "important": "*,::before{-webkit-text-fill-color:red!important;color:red!important;visibility:visible!important}",
    "transition": "p,p::before{-webkit-text-fill-color:red;transition:all 9s}img{transition:all 9s}",
    "animation": "@keyframes k{0%,to{-webkit-text-fill-color:red;visibility:visible}}*{animation:k 1s infinite}",
    "first-line": "p::first-line,p::first-letter{-webkit-text-fill-color:red!important}",
}


def test_styles_that_fight_hiding_lose(draw: Draw, store: ObjectStore) -> None:
    body = "<p>words</p><p style='-webkit-text-fill-color:red!important'>more</p><img src=a.svg>"
    pages = {
        f"{name}.html": html(body, f"p::before{{content:'b'}}p{{color:red}}{style}") for name, style in FIGHTS.items()
    }
    rendered = draw({**pages, "a.svg": SVG})
    for index in range(len(FIGHTS)):
        seen = Seen(store, rendered, index)
        assert RED in seen.colors(FULL)
        assert seen.colors(TEXTLESS) == {GREEN, WHITE}, rendered.shots[index].id
        assert seen.colors(BARE) == {WHITE}, rendered.shots[index].id
        assert not seen.page.resist
        assert seen.page.unstable == ()


def test_text_and_rasters_in_a_closed_shadow_root_are_hidden(draw: Draw, store: ObjectStore) -> None:
    page = html(
        "<div id=h></div><script>h.attachShadow({mode:'closed'}).innerHTML="
        "'<style>p{color:red;-webkit-text-fill-color:red!important}</style><p>inside</p><img src=a.svg>'</script>"
    )
    seen = Seen(store, draw({"index.html": page, "a.svg": SVG}))
    assert {RED, GREEN} <= seen.colors(FULL)
    assert seen.colors(TEXTLESS) == {GREEN, WHITE}
    assert seen.colors(BARE) == {WHITE}
    assert [found.text for found in seen.page.nodes if found.tag == "p"] == ["inside"]


RASTERS = {
    "svg": "<svg width=50 height=50><image href=a.svg width=50 height=50 /></svg>",
    "use": "<svg width=50 height=50><defs><image id=i href=a.svg width=50 height=50 /></defs><use href='#i' /></svg>",
    "foreign": "<svg width=50 height=50><foreignObject width=50 height=50><img src=a.svg></foreignObject></svg>",
    "background": "<div style='width:50px;height:50px;background:linear-gradient(#0000,#0000),url(a.svg)'></div>",
    "content": "<style>i::before{content:url(a.svg)}</style><i></i>",
    "mask": "<div style='width:50px;height:50px;background:green;mask:url(a.svg)'></div>",
    "border": "<div style='border:25px solid;width:0;border-image:url(a.svg) 10'></div>",
    "marker": "<ul><li style='list-style-image:url(a.svg)'></li></ul>",
    "iframe": "<iframe srcdoc='<body style=background:green>' width=50 height=50 frameborder=0></iframe>",
    "object": "<object data=a.svg></object>",
    "poster": "<video poster=a.svg width=50 height=50></video>",
    "element": "<div style='width:50px;height:50px;content:url(a.svg)'></div>",
}


def test_every_sort_of_raster_is_listed_and_hidden(draw: Draw, store: ObjectStore) -> None:
    rendered = draw({**{f"{name}.html": html(body) for name, body in RASTERS.items()}, "a.svg": SVG})
    for index, name in enumerate(RASTERS):
        seen = Seen(store, rendered, index)
        assert GREEN in seen.colors(FULL), name
        assert seen.colors(BARE) == {WHITE}, name
        assert len(seen.page.rasters) >= 1, name
        assert not seen.page.resist, name


def test_lazy_images_are_loaded_and_decoded(draw: Draw, store: ObjectStore) -> None:
    page = html("<div style='height:5000px'></div>" + "".join(f"<img loading=lazy src='a.svg?{n}'>" for n in range(5)))
    seen = Seen(store, draw({"index.html": page, "a.svg": SVG}))
    assert (seen.page.images.total, seen.page.images.decoded) == (5, 5)
    assert GREEN in seen.colors(FULL)
    assert seen.page.nodes[node(seen.page, "img")].attrs["loading"] == "lazy"


def test_what_appears_when_scrolled_to_is_seen(draw: Draw, store: ObjectStore) -> None:
    page = html(
        "<div style='height:3000px'></div><p>late</p><script>new IntersectionObserver((e) => e.forEach((x) => {"
        "if (x.isIntersecting) x.target.style.background = '#0000ff'})).observe(document.querySelector('p'))</script>"
    )
    assert BLUE in Seen(store, draw({"index.html": page})).colors(FULL)


def test_full_height_hero_keeps_the_window_s_height(draw: Draw, store: ObjectStore) -> None:
    page = html(
        "<div class=h></div><div class=r></div>",
        ".h{height:100vh;background:blue}.r{height:2000px}@media(min-height:700px){.r{background:red}}",
    )
    seen = Seen(store, draw({"index.html": page}))
    assert seen.page.height == 2600
    assert RED not in seen.colors(FULL)
    assert seen.page.nodes[node(seen.page, "div")].box == (0, 0, 800 * 16, 600 * 16)


def test_off_origin_requests_are_stopped_and_recorded(draw: Draw, store: ObjectStore) -> None:
    page = html(
        "<img src='http://example.com/a.png'><img src=a.svg><script>fetch('http://10.0.0.1/x').catch(() => 0);"
        "fetch('/missing'); new WebSocket('ws://example.org/')</script>"
    )
    found = {
        (request.url, request.blocked)
        for request in Seen(store, draw({"index.html": page, "a.svg": SVG})).page.requests
    }
    assert found == {
        ("http://localhost/index.html", False),
        ("http://localhost/a.svg", False),
        ("http://localhost/missing", False),
        ("http://example.com/a.png", True),
        ("http://10.0.0.1/x", True),
        ("ws://example.org/", True),
    }


def test_steps_change_the_state_and_their_result_is_kept(draw: Draw, store: ObjectStore) -> None:
    page = html(
        "<button aria-expanded=false onclick=\"m.hidden=!m.hidden;setTimeout(()=>m.append('later'),300)\">Menu</button>"
        "<ul id=m hidden><li>one</li></ul><label>Name <input></label><input type=checkbox>"
        "<select aria-label=Size><option>S</option><option>L</option></select>"
    )
    steps = (
        Step("click", Locator(role="button", name="Menu")),
        Step("select", Locator(label="Size"), "L"),
        Step("check", Locator(css="[type=checkbox]")),
        Step("fill", Locator(label="Name"), "Ada"),
    )
    seen = Seen(store, draw({"index.html": page}, shot("home", "/", *steps)))
    assert [step.ok for step in seen.page.steps] == [True] * 4
    nodes = seen.page.nodes
    assert nodes[node(seen.page, "ul")].visible
    assert nodes[node(seen.page, "ul")].text == "later"
    assert nodes[node(seen.page, "select")].value == "L"
    boxes = [found for found in nodes if found.tag == "input"]
    assert [(found.value, found.checked, found.focused) for found in boxes] == [
        ("Ada", None, True),
        ("on", True, False),
    ]
    assert any(ax.role == "button" and ax.name == "Menu" and nodes[ax.node].tag == "button" for ax in seen.page.ax)


def test_a_step_without_its_element_is_a_result_and_ends_the_steps(draw: Draw, store: ObjectStore) -> None:
    steps = (Step("click", Locator(text="Nowhere")), Step("reload"))
    seen = Seen(store, draw({"index.html": html("<p>here</p>")}, shot("home", "/", *steps)))
    assert [(step.do, step.ok, step.error) for step in seen.page.steps] == [("click", False, "no such element")]


def test_state_survives_reload_back_and_another_page(draw: Draw, store: ObjectStore) -> None:
    pages: dict[str, str | bytes] = {
        "index.html": html(
            "<a href=two/>go</a><p id=o></p><script>o.append(localStorage.n = 1 + (+localStorage.n || 0))</script>"
        ),
        "two/index.html": html("<h1>two</h1><script>sessionStorage['schlüssel'] = 'ja'</script>"),
    }
    there = Seen(store, draw(pages, shot("home", "/", Step("click", Locator(text="go"))))).page
    assert there.url == "http://localhost/two/"
    assert there.storage.session == {"schl%C3%BCssel": "ja"}
    again = Seen(
        store, draw(pages, shot("home", "/", Step("reload"), Step("click", Locator(text="go")), Step("back")))
    ).page
    assert again.url == "http://localhost/"
    assert again.storage.local == {"n": "3"}


def test_resize_and_scroll_are_steps(draw: Draw, store: ObjectStore) -> None:
    page = html("<div style='height:3000px'></div><script>onscroll = () => document.title = scrollY</script>")
    seen = Seen(
        store,
        draw({"index.html": page}, shot("home", "/", Step("resize", None, "400x300"), Step("scroll", None, "700"))),
    )
    assert (seen.page.width, seen.page.title) == (400, "700")


def test_overflow_is_measured_at_every_width(draw: Draw, store: ObjectStore) -> None:
    pages: dict[str, str | bytes] = {
        "index.html": html("<div style='width:500px;height:9px'></div>"),
        "cut.html": html("<div style='width:500px;height:9px'></div>", "body{overflow-x:hidden}"),
    }
    rendered = draw(pages, shot("home", "/"), sweep=(SweepPath("/", (320, 700)), SweepPath("/cut.html", (320,))))
    widths = Sweep.parse(store.get(rendered.sweep)).widths
    assert [(found.path, found.width, found.scroll_width) for found in widths] == [
        ("/", 320, 500),
        ("/", 700, 700),
        ("/cut.html", 320, 320),
    ]


def test_a_page_that_hangs_is_an_error_of_its_shot_alone(draw: Draw, store: ObjectStore) -> None:
    pages: dict[str, str | bytes] = {
        "loop.html": html("<p>x</p><script>for(;;);</script>"),
        "alerts.html": html("<script>for(;;) alert(1)</script>"),
        "later.html": html("<p>x</p><script>setTimeout(() => { for(;;); }, 100)</script>"),
        "memory.html": html("<script>const a=[];for(;;)a.push(new Uint8Array(1e8).fill(1))</script>"),
        "fine.html": html("<p>fine</p>"),
    }
    rendered = draw(pages, shot_ms=4000)
    assert [found.tree is None for found in rendered.shots] == [True, True, True, True, False], rendered.log.decode()
    assert rendered.failed is None
    assert Seen(store, rendered, 4).page.nodes[-1].text == "fine"


def test_nothing_drawn_at_all_is_a_failed_run(draw: Draw) -> None:
    rendered = draw({"index.html": html("<script>for(;;);</script>")}, shot_ms=2000)
    assert rendered.failed == "render-failed"
    assert rendered.shots[0].error == "took too long"


def test_a_page_of_100000_pixels_is_cut(draw: Draw, store: ObjectStore) -> None:
    page = html("<div style='height:100000px;background:linear-gradient(red,blue)'></div>")
    seen = Seen(store, draw({"index.html": page}, max_height=5000))
    assert (seen.page.width, seen.page.height) == (800, 5000)


def test_dialogs_and_popups_are_dismissed_and_noted(draw: Draw, store: ObjectStore) -> None:
    page = html(
        "<p id=o></p><script>alert('hi'); o.append(confirm('sure?')); window.open('/two.html');"
        "console.warn('x'); throw Error('oops')</script>"
    )
    seen = Seen(store, draw({"index.html": page, "two.html": "2"}, shot("home", "/")))
    assert seen.page.nodes[node(seen.page, "p")].text == "false"
    noted = [(line.type, line.text) for line in seen.page.console]
    assert noted[:2] == [("dialog", "hi"), ("dialog", "sure?")]
    assert {("warning", "x"), ("exception", "oops"), ("popup", "")} <= set(noted)


def test_patched_prototypes_and_a_watchful_page_change_nothing(draw: Draw, store: ObjectStore) -> None:
    lie = (
        "<script>Element.prototype.getBoundingClientRect=()=>({x:0,y:0,width:1,height:1});"
        "window.getComputedStyle=()=>({});document.querySelectorAll=()=>[];CSSStyleDeclaration.prototype.setProperty=()=>0;"
        "new MutationObserver(()=>document.body.replaceChildren('caught'))"
        ".observe(document,{subtree:true,childList:true,attributes:true});"
        "addEventListener('resize',()=>document.body.replaceChildren('resized'))</script>"
    )
    honest = Seen(store, draw({"index.html": html("<p>words</p><img src=a.svg>"), "a.svg": SVG}))
    seen = Seen(store, draw({"index.html": html("<p>words</p><img src=a.svg>" + lie), "a.svg": SVG}))
    for name in (FULL, TEXTLESS, BARE):
        assert seen.bytes(name) == honest.bytes(name)
    assert seen.page.rasters == honest.page.rasters
    assert seen.page.lines == honest.page.lines


def test_no_path_leads_out_of_the_site(draw: Draw, store: ObjectStore) -> None:
    page = html(
        "<p id=o></p><script>Promise.all(['/../plan.json', '/%2e%2e/plan.json', '/plan.json', '/..%2fplan.json',"
        "'/sub', '/none/'].map((p) => fetch(p).then((r) => r.status + new URL(r.url).pathname)))"
        ".then((s) => o.append(s.join(' ')))</script>"
    )
    seen = Seen(store, draw({"index.html": page, "sub/index.html": "<!doctype html>sub"}, shot("home", "/"))).page
    assert (
        seen.nodes[node(seen, "p")].text
        == "404/plan.json 404/plan.json 404/plan.json 404/..%2fplan.json 200/sub/ 404/none/"
    )


def test_animated_picture_is_held_at_its_first_frame(draw: Draw, store: ObjectStore) -> None:
    frames = [Picture.new("RGB", (50, 50), color) for color in (RED, BLUE)]
    buffer = io.BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=20, loop=0)
    seen = Seen(store, draw({"index.html": html("<img src=a.gif>"), "a.gif": buffer.getvalue()}))
    assert seen.colors(FULL) == {RED, WHITE}


def test_worker_s_timers_cannot_be_held_and_that_is_said(draw: Draw, store: ObjectStore) -> None:
    page = html("<script>new Worker('w.js')</script>")
    seen = Seen(store, draw({"index.html": page, "w.js": "setInterval(() => postMessage(Date.now()), 5)"}))
    assert seen.page.unstable == ("worker",)


def test_browser_s_own_sandbox_is_on_under_our_profile(engine: Engine, image: Image, tmp_path: Path) -> None:
    script = tmp_path / "look.js"
    script.write_text(
        "require('/playwright/package').chromium.launch({executablePath: '/usr/lib/chromium/chromium',"
        "chromiumSandbox: true, args: ['--disable-gpu']}).then(async (browser) => {"
        "const page = await browser.newPage(); await page.goto('chrome://sandbox');"
        "console.log(await page.innerText('body')); await browser.close(); });"
    )
    spec = RunSpec(
        image=image.reference,
        argv=("/playwright/node", "/look.js"),
        env={"HOME": "/home"},
        memory=1 << 30,
        mounts=(*mounts(), Mount(script, "/look.js")),
        seccomp=SECCOMP,
        labels=labels(uuid.uuid4().hex[:12], "sandbox"),
        seconds=60,
    )
    assert "You are adequately sandboxed." in engine.run(spec).stdout.decode()
    assert "You are adequately sandboxed." not in engine.run(replace(spec, seccomp=None)).stdout.decode()


def test_page_is_the_same_without_a_container_but_for_its_fonts(draw: Draw, store: ObjectStore) -> None:
    tree = Tree.of([TreeEntry.file("index.html", store.put_bytes(LIVELY.encode()), len(LIVELY.encode()))])
    plan = Plan(Settings(), (shot("home", "/"),), ())
    there = Seen(store, render_native(store, save_tree(store, tree), plan)).page
    here = Seen(store, draw({"index.html": LIVELY}, shot("home", "/"))).page
    assert [found.text for found in there.nodes] == [found.text for found in here.nodes]
    assert there.requests == here.requests


def test_environment_names_everything_that_draws(image: Image) -> None:
    found = environment(image)
    assert found.image == image.rootfs
    assert found.fonts == image.fonts
    assert found.browser.startswith("Chromium ")
    assert found.backend == "docker"
