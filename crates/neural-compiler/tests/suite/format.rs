//! The formatter changes white space only, keeps every comment, and formats its own output to itself.

use neural_compiler::Limits;
use neural_compiler::syntax::format::format;
use neural_compiler::syntax::lexer::{Lexer, TokenKind};

/// Every token as text, blanks at the end of comments aside.
fn tokens(source: &str) -> Vec<String> {
    let mut lexer = Lexer::new(source);
    let mut all = Vec::new();
    while let Some(token) = lexer.next_token() {
        let token = token.expect("tests use texts that can be read");
        let text = token.span.text(source);
        all.push(if token.kind == TokenKind::LineComment { text.trim_end() } else { text }.to_string());
    }
    all
}

fn check(source: &str) -> String {
    let once = format(source, &Limits::default()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(tokens(source), tokens(&once), "tokens of\n{source}\nbecame\n{once}");
    let twice = format(&once, &Limits::default()).expect("formatted text can be read");
    assert_eq!(once, twice, "not idempotent:\n{source}");
    assert!(once.is_empty() || once.ends_with('\n') && !once.ends_with("\n\n"));
    assert!(once.lines().all(|l| l.trim_end() == l || l.contains("#|")), "blanks at line ends:\n{once}");
    once
}

#[test]
fn short_things_go_on_a_line() {
    assert_eq!(check("( +   1\n\n 2 [ 3   4 ] )"), "(+ 1 2 [3 4])\n");
    assert_eq!(check(""), "");
    assert_eq!(check("\u{feff}x\r\n"), "x\n");
    assert_eq!(check("()"), "()\n");
}

#[test]
fn bodies_stay_broken() {
    let source = "(define (power x n)\n(loop ((i 0) (acc 1))\n(if (= i n) acc\n(recur (+ i 1) (* acc x)))))\n(power x 3)";
    let expected =
        "(define (power x n)\n  (loop ((i 0) (acc 1))\n    (if (= i n)\n        acc\n        (recur (+ i 1) (* acc x)))))\n(power x 3)\n";
    assert_eq!(check(source), expected);
}

#[test]
fn long_calls_break_under_the_first_argument() {
    let source = "(+ (* aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbb) (* cccccccccccccccccccccccc dddddddddddddddddddd) (sin x))";
    let expected =
        "(+ (* aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbb)\n   (* cccccccccccccccccccccccc dddddddddddddddddddd)\n   (sin x))\n";
    assert_eq!(check(source), expected);
}

#[test]
fn arguments_of_long_names_stand_below_them() {
    let source = "(a-function-with-a-long-name (* aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbb) (* cccccccccccccc ddddddddddd))";
    assert_eq!(
        check(source),
        "(a-function-with-a-long-name\n  (* aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbb)\n  (* cccccccccccccc ddddddddddd))\n"
    );
}

#[test]
fn long_vectors_are_filled() {
    let numbers: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    let out = check(&format!("[{}]", numbers.join(" ")));
    assert!(out.lines().count() < 6, "{out}");
}

#[test]
fn comments_stay_where_they_belong() {
    let source = "; head\n\n\n(param k 5.0)   ; first\n(param damping 0.1 :min 0) ; second\n(* k ; why\n damping)\n; tail";
    let expected = "; head\n\n(param k 5.0)              ; first\n(param damping 0.1 :min 0) ; second\n(* k ; why\n   damping)\n; tail\n";
    assert_eq!(check(source), expected);
}

#[test]
fn tricky_comments() {
    for source in [
        "( ; first\n + 1 2)",
        "(+ 1 2 ; last\n)",
        "(+ 1\n 2\n ; own line\n )",
        "#; (drop me) (+ 1 #;2 3)",
        "(+ 1 #; #; 2 3 4)",
        "(+ 1 #; ; why\n 2 3)",
        "(+ 1 #; #| why |# 2 3)",
        "#| a\n  b |# (+ 1 #| c\n d |# 2)",
        "(let #| names |# ((a 1) ; one\n (b 2)) ; two\n (+ a b))",
        "(define ; f\n (f x) ; of x\n ; body\n x) (f 1)",
        "[1 ; one\n 2]",
        "(cond ((< x 0) ; negative\n -1)\n\n ; else\n (else 1))",
        ";only a comment",
        "#|only|#",
        "#| a |# ; b\n; c\n#| d |# #| e |# x",
        "(if ; test\n a b ; c\n c)",
        "(|odd name| 1)",
        "(let loop ; name\n ((i 0)) (if (> i 3) i (loop (+ i 1))))",
    ] {
        check(source);
    }
}

#[test]
fn random_trees() {
    let mut state = 12345u64;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    let words = ["x", "1", "let", "define", "if", "cond", "+", "a-rather-long-name-of-a-thing", "let*", "3.25e-7", "θ", "loop"];
    let spaces = [" ", "\n", "\n\n\n", "  ", "\r\n", " \t"];
    for _ in 0..3000 {
        let (mut text, mut open) = (String::new(), Vec::new());
        for _ in 0..next(60) {
            match next(12) {
                0..=2 => {
                    let bracket = next(4) == 0;
                    text.push_str(if bracket { "[" } else { "(" });
                    open.push(if bracket { "]" } else { ")" });
                }
                3..=4 => text.push_str(open.pop().unwrap_or("")),
                5 => text.push_str("; note  \n"),
                6 => text.push_str(if next(2) == 0 { "#| a |#" } else { "#| a\n b |#" }),
                7 if next(2) == 0 => text.push_str("#; x"),
                _ => text.push_str(words[next(words.len() as u64) as usize]),
            }
            text.push_str(spaces[next(spaces.len() as u64) as usize]);
        }
        while let Some(close) = open.pop() {
            text.push_str(close);
        }
        check(&text);
    }
}

#[test]
fn deep_and_large_texts_are_quick() {
    let deep = format!("{}x{}", "(sin ".repeat(9_000), ")".repeat(9_000));
    assert!(check(&deep).len() < 2_000_000);
    let lets = format!("{}x{}", "(let ((a 1)) ".repeat(4_000), ")".repeat(4_000));
    assert!(check(&lets).len() < 2_000_000);
    let wide = format!("(+ {})", "(* 2 y) ".repeat(100_000));
    check(&wide);
    let line = format!("(+ {})", "y ".repeat(500_000));
    check(&line);
}

#[test]
fn unreadable_texts_are_refused() {
    assert_eq!(format("(+ 1", &Limits::default()).unwrap_err().0[0].code, "unbalanced-parenthesis");
}
